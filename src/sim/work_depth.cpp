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

/// Finds when each task could end if every task had a device of its own, step after step.
class LongestChain {
 public:
  LongestChain(const TaskGraph& graph, const std::vector<std::int32_t>& messages, LeastTimes least)
      : graph_(graph),
        messages_(messages),
        least_(std::move(least)),
        into_(graph.tasks.size()),
        started_(least_.size()) {
    for (const Dependency& edge : graph.dependencies) into_[edge.to].push_back(edge);
  }

  /// The last end of the next step, the first of which begins at zero. Tasks are listed behind
  /// those of their step that they wait for, and finishes behind the starts of all members.
  SimTime add_step() {
    ends_.emplace_back(graph_.tasks.size());
    std::ranges::fill(started_, SimTime{});
    SimTime last{};
    for (std::size_t at = 0; at < graph_.tasks.size(); ++at) {
      ends_.back()[at] = end_of(at, ready_of(at));
      last = std::max(last, ends_.back()[at]);
    }
    return last;
  }

 private:
  SimTime ready_of(std::size_t task) const {
    SimTime ready{};
    for (const Dependency& edge : into_[task]) {
      std::ptrdiff_t step = std::ssize(ends_) - 1 - edge.distance;
      if (step >= 0) ready = std::max(ready, ends_[static_cast<std::size_t>(step)][edge.from]);
    }
    return ready;
  }

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
  std::vector<std::vector<Dependency>> into_;  // by task
  std::vector<std::vector<SimTime>> ends_;     // by step and task
  std::vector<SimTime> started_;               // by message: on all members so far in this step
};

/// Ends of steps grow by the heaviest cycle once chains that lead to it are behind.
SimTime growth_of(LongestChain chain) {
  constexpr int kLeadIn = 8, kCounted = 8;
  SimTime before{}, last{};
  for (int step = 0; step < kLeadIn; ++step) before = chain.add_step();
  for (int step = 0; step < kCounted; ++step) last = chain.add_step();
  return {(last - before).count / kCounted};
}

}  // namespace

WorkDepth work_depth(const TaskGraph& graph) {
  WorkDepth found;
  for (const Task& task : graph.tasks)
    if (task.computes()) found.work += task.choice.time;
  found.depth = LongestChain(graph, messages_of(graph), least_times(graph)).add_step();
  return found;
}

WorkDepth work_depth(const FoldedGraph& folded, const TaskGraph& graph) {
  WorkDepth found;
  for (std::size_t at = 0; at < folded.tasks.size(); ++at)
    for (const FoldedTask& task : folded.tasks[at])
      if (task.kind == TaskKind::compute) found.work += task.time * folded.classes.size[at];
  const std::vector<std::int32_t> messages = messages_of(graph, folded);
  found.depth = LongestChain(graph, messages, least_times(folded, graph, messages)).add_step();
  return found;
}

SimTime heaviest_cycle(const TaskGraph& graph) {
  return growth_of({graph, messages_of(graph), least_times(graph)});
}

SimTime heaviest_cycle(const FoldedGraph& folded, const TaskGraph& graph) {
  const std::vector<std::int32_t> messages = messages_of(graph, folded);
  return growth_of({graph, messages, least_times(folded, graph, messages)});
}

}  // namespace troika
