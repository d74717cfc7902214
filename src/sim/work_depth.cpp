#include "sim/work_depth.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cost/message_phases.h"
#include "taskgraph/loop_pass.h"

namespace troika {
namespace {

/// By message: the least time from its last start to its end.
using LeastTimes = std::vector<SimTime>;

/// The links of a message may be faster than the network that its formula assumes.
SimTime least_time(SimTime formula, const SharedPhases& phases) {
  const MessagePhases* known = phases.get();
  return known == nullptr ? formula : std::min(formula, time_alone(*known));
}

LeastTimes least_times(const TaskGraph& graph) {
  LeastTimes least;
  for (const Communication& communication : graph.communications)
    least.push_back(least_time(communication.time, communication.phases));
  return least;
}

LeastTimes least_times(const FoldedGraph& folded, const TaskGraph& graph,
                       const std::vector<std::int32_t>& messages) {
  std::map<TaskId, const FoldedTask*> finishes;
  for (const std::vector<FoldedTask>& tasks : folded.tasks)
    for (const FoldedTask& task : tasks)
      if (task.kind == TaskKind::finish) finishes.emplace(task_id(task.id), &task);
  LeastTimes least(message_count(messages));
  for (std::size_t at = 0; at < messages.size(); ++at)
    if (auto found = finishes.find(graph.tasks[at].id); found != finishes.end())
      least[as_index(messages[at])] = least_time(found->second->time, found->second->phases);
  return least;
}

/// Finds when each task of a step could end if every task had a device of its own.
class LongestChain {
 public:
  LongestChain(const TaskGraph& graph, const std::vector<std::int32_t>& messages, LeastTimes least)
      : graph_(graph),
        messages_(messages),
        least_(std::move(least)),
        into_(graph.tasks.size()),
        end_(graph.tasks.size()),
        started_(least_.size()) {
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
      return std::max(ready, started + least_[as_index(messages_[at])]);
    started = std::max(started, ready);
    return ready;
  }

  const TaskGraph& graph_;
  const std::vector<std::int32_t>& messages_;  // by task
  const LeastTimes least_;
  std::vector<std::vector<std::size_t>> into_;  // by task
  std::vector<SimTime> end_;                    // by task
  std::vector<SimTime> started_;                // by message: on all members so far
};

}  // namespace

WorkDepth work_depth(const TaskGraph& graph) {
  WorkDepth found;
  for (const Task& task : graph.tasks)
    if (task.computes()) found.work += task.choice.time;
  found.depth = LongestChain(graph, messages_of(graph), least_times(graph)).find();
  return found;
}

WorkDepth work_depth(const FoldedGraph& folded, const TaskGraph& graph) {
  WorkDepth found;
  for (std::size_t at = 0; at < folded.tasks.size(); ++at)
    for (const FoldedTask& task : folded.tasks[at])
      if (task.kind == TaskKind::compute) found.work += task.time * folded.classes.size[at];
  const std::vector<std::int32_t> messages = messages_of(graph, folded);
  found.depth = LongestChain(graph, messages, least_times(folded, graph, messages)).find();
  return found;
}

}  // namespace troika
