#include "sim/work_depth.h"

#include <algorithm>
#include <vector>

namespace troika {
namespace {

/// Finds when each task of a step could end if every task had a device of its own.
class LongestChain {
 public:
  explicit LongestChain(const TaskGraph& graph)
      : graph_(graph),
        into_(graph.tasks.size()),
        end_(graph.tasks.size()),
        started_(graph.communications.size()) {
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
      end_[at] = end_of(graph_.tasks[at], ready);
      last = std::max(last, end_[at]);
    }
    return last;
  }

 private:
  SimTime end_of(const Task& task, SimTime ready) {
    if (task.computes()) return ready + task.choice.time;
    SimTime& started = started_[task.communication.index()];
    if (task.kind == TaskKind::finish)
      return std::max(ready, started + graph_[task.communication].time);
    started = std::max(started, ready);
    return ready;
  }

  const TaskGraph& graph_;
  std::vector<std::vector<std::size_t>> into_;  // by task
  std::vector<SimTime> end_;                    // by task
  std::vector<SimTime> started_;                // by communication: on all members so far
};

}  // namespace

WorkDepth work_depth(const TaskGraph& graph) {
  WorkDepth found;
  for (const Task& task : graph.tasks)
    if (task.computes()) found.work += task.choice.time;
  found.depth = LongestChain(graph).find();
  return found;
}

}  // namespace troika
