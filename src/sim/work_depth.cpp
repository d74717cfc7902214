#include "sim/work_depth.h"

#include <algorithm>
#include <vector>

#include "taskgraph/loop_pass.h"

namespace troika {
namespace {

/// Finds when each task of a step could end if every task had a device of its own.
class LongestChain {
 public:
  LongestChain(const TaskGraph& graph, const std::vector<std::int32_t>& messages)
      : graph_(graph),
        messages_(messages),
        into_(graph.tasks.size()),
        end_(graph.tasks.size()),
        started_(message_count(messages)) {
    for (const Dependency& edge : graph.dependencies)
      if (edge.distance == 0) into_[edge.to].push_back(edge.from);
  }

  /// Tasks are listed behind those of their step that they wait for, and finishes behind the starts
  /// of all members.
  SimTime find() {
    SimTime last{};
    for (std::size_t at = 0; at < graph_.tasks.size(); ++at) {
      SimTime ready{};
      for (std::size_t from : into_[at]) ready = std::max(ready, end_[from]);
      end_[at] = end_of(at, ready);
      last = std::max(last, end_[at]);
    }
    return last;
  }

 private:
  SimTime end_of(std::size_t at, SimTime ready) {
    const Task& task = graph_.tasks[at];
    if (task.computes()) return ready + task.choice.time;
    if (messages_[at] < 0) return ready;  // of a device that stands for no class
    SimTime& started = started_[as_index(messages_[at])];
    if (task.kind == TaskKind::finish)
      return std::max(ready, started + graph_[task.communication].time);
    started = std::max(started, ready);
    return ready;
  }

  const TaskGraph& graph_;
  const std::vector<std::int32_t>& messages_;   // by task
  std::vector<std::vector<std::size_t>> into_;  // by task
  std::vector<SimTime> end_;                    // by task
  std::vector<SimTime> started_;                // by message: on all members so far
};

}  // namespace

WorkDepth work_depth(const TaskGraph& graph) {
  WorkDepth found;
  for (const Task& task : graph.tasks)
    if (task.computes()) found.work += task.choice.time;
  found.depth = LongestChain(graph, messages_of(graph)).find();
  return found;
}

WorkDepth work_depth(const FoldedGraph& folded, const TaskGraph& graph) {
  WorkDepth found;
  for (std::size_t at = 0; at < folded.tasks.size(); ++at)
    for (const FoldedTask& task : folded.tasks[at])
      if (task.kind == TaskKind::compute) found.work += task.time * folded.classes.size[at];
  found.depth = LongestChain(graph, messages_of(graph, folded)).find();
  return found;
}

}  // namespace troika
