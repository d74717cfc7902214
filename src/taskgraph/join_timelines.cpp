#include "taskgraph/join_timelines.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace troika {
namespace {

/// An all-reduce on the clock of a process.
struct SeenMessage {
  std::optional<SimTime> started{};  ///< By its last device.
  std::optional<SimTime> waited{};   ///< From here on its first device to end did nothing else.
  std::optional<SimTime> ended{};    ///< On its first device to end.

  bool is_whole() const { return started && ended; }
  /// What a device did between the two may have hidden the end.
  SimTime hidden() const { return *waited - *started; }
};

using SeenMessages = std::map<CommunicationId, SeenMessage>;

/// Communications whose start and finish are in the same pass; those that lag belong to two steps.
std::map<CommunicationId, bool> lags(const TaskGraph& graph) {
  std::map<CommunicationId, bool> found;
  for (const Task& task : graph.tasks)
    if (!task.computes()) found[task.communication] |= task.lag != 0;
  return found;
}

class Clocks {
 public:
  explicit Clocks(const TaskGraph& graph) : graph_(graph), lags_(lags(graph)) {
    for (const Task& task : graph.tasks) tasks_[task.id] = &task;
  }

  SeenMessages seen_by(const Timeline& process) const {
    SeenMessages seen;
    for (const Span& span : process.spans) {
      auto found = tasks_.find(span.task);
      if (found == tasks_.end() || !counts(*found->second)) continue;
      SeenMessage& message = seen[found->second->communication];
      if (found->second->kind == TaskKind::start) {
        message.started = std::max(message.started.value_or(span.start), span.start);
      } else if (!message.ended || span.end < *message.ended) {
        message.ended = span.end;
        message.waited = span.start;
      }
    }
    return seen;
  }

  /// How much later than the first clock another one shows a moment.
  static SimTime offset(const SeenMessages& first, const SeenMessages& other) {
    SimTime least{std::numeric_limits<std::int64_t>::max()}, lower{}, upper{}, chosen{};
    bool is_known = false;
    for (const auto& [id, here] : first) {
      auto found = other.find(id);
      if (found == other.end() || !here.is_whole() || !found->second.is_whole()) continue;
      const SeenMessage& there = found->second;
      SimTime after = *there.started - *here.ended, before = *there.ended - *here.started;
      lower = is_known ? std::max(lower, after) : after;
      upper = is_known ? std::min(upper, before) : before;
      is_known = true;
      SimTime hidden = here.hidden() + there.hidden();
      if (hidden >= least) continue;
      least = hidden;
      chosen = *there.ended - *here.ended;
    }
    return std::min(std::max(chosen, lower), upper);
  }

 private:
  bool counts(const Task& task) const {
    return !task.computes() && !lags_.at(task.communication) &&
           graph_[task.communication].call.kind == Collective::all_reduce;
  }

  const TaskGraph& graph_;
  std::map<CommunicationId, bool> lags_;
  std::map<TaskId, const Task*> tasks_;
};

}  // namespace

Timeline join_timelines(const TaskGraph& graph, const std::vector<Timeline>& processes) {
  Clocks clocks(graph);
  Timeline joined = processes.front();
  SeenMessages first = clocks.seen_by(joined);
  for (std::size_t at = 1; at < processes.size(); ++at) {
    SimTime offset = Clocks::offset(first, clocks.seen_by(processes[at]));
    for (Span span : processes[at].spans) {
      span.start = span.start - offset;
      span.end = span.end - offset;
      joined.spans.push_back(span);
    }
  }
  SimTime begin{std::numeric_limits<std::int64_t>::max()};
  for (const Span& span : joined.spans) begin = std::min(begin, span.start);
  for (Span& span : joined.spans) {
    span.start = span.start - begin;
    span.end = span.end - begin;
  }
  return joined;
}

}  // namespace troika
