#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "taskgraph/task_graph.h"

namespace troika {
namespace {

/// What each task must precede in its own pass although that belongs to a later step, by
/// dependency.
std::vector<std::vector<std::size_t>> find_waiting(const TaskGraph& graph) {
  std::size_t count = graph.tasks.size();
  std::vector<std::vector<std::size_t>> waiting(count);
  for (const Dependency& edge : graph.dependencies) {
    if (edge.from >= count || edge.to >= count || edge.distance == 0) continue;
    if (graph.tasks[edge.from].lag - edge.distance == graph.tasks[edge.to].lag)
      waiting[edge.from].push_back(edge.to);
  }
  return waiting;
}

/// The order of a pass, to which the tasks of one lag after the other are added, the smallest
/// first.
class PassOrder {
 public:
  explicit PassOrder(const TaskGraph& graph) : graph_(graph), waiting_(find_waiting(graph)) {}

  /// `tasks`: all of one lag, as listed. Each goes before the first task so far that has a later
  /// turn or must wait for it; since they keep their order, a later one holds the earlier ones
  /// back.
  void add(const std::vector<std::size_t>& tasks) {
    note_first_uses();
    std::vector<std::size_t> before(tasks.size());
    std::size_t next = order_.size();
    for (std::size_t at = tasks.size(); at-- > 0;) before[at] = next = first_after(tasks[at], next);
    std::vector<std::size_t> merged;
    merged.reserve(order_.size() + tasks.size());
    std::size_t taken = 0;
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      while (taken < before[at]) merged.push_back(order_[taken++]);
      merged.push_back(tasks[at]);
    }
    merged.insert(merged.end(), order_.begin() + static_cast<std::ptrdiff_t>(taken), order_.end());
    order_ = std::move(merged);
  }

  std::vector<std::size_t> take() { return std::move(order_); }

 private:
  void note_first_uses() {
    touch_.assign(graph_.buffers.size(), order_.size());
    write_ = touch_;
    place_.assign(graph_.tasks.size(), order_.size());
    for (std::size_t at = order_.size(); at-- > 0;) {
      const Task& task = graph_.tasks[order_[at]];
      place_[order_[at]] = at;
      for (const BufferUse& use : task.uses) {
        std::size_t root = graph_.root(use.buffer).index();
        touch_[root] = at;
        if (use.access != Access::read) write_[root] = at;
      }
      if (task.kind == TaskKind::start) starts_[{task.communication, task.member}] = at;
    }
  }

  /// The place of the first task that must wait for this one; `end` if there is none before that.
  std::size_t first_after(std::size_t at, std::size_t end) const {
    const Task& task = graph_.tasks[at];
    auto later = std::ranges::upper_bound(
        order_, task.turn, {}, [&](std::size_t other) { return graph_.tasks[other].turn; });
    end = std::min(end, static_cast<std::size_t>(later - order_.begin()));
    for (const BufferUse& use : task.uses) {
      std::size_t root = graph_.root(use.buffer).index();
      end = std::min(end, (use.access == Access::read ? write_ : touch_)[root]);
    }
    for (std::size_t waiting : waiting_[at]) end = std::min(end, place_[waiting]);
    // A member has one operation for a communication, which cannot start again before it is over.
    if (task.kind != TaskKind::finish) return end;
    auto start = starts_.find({task.communication, task.member});
    return start == starts_.end() ? end : std::min(end, start->second);
  }

  const TaskGraph& graph_;
  const std::vector<std::vector<std::size_t>> waiting_;  // by task
  std::vector<std::size_t> order_;
  // Places in order_: of the first task that touches and that writes each root buffer, of each
  // task, and of each member's start.
  std::vector<std::size_t> touch_, write_, place_;
  std::map<std::pair<CommunicationId, int>, std::size_t> starts_;
};

}  // namespace

int largest_lag(const TaskGraph& graph) {
  int largest = 0;
  for (const Task& task : graph.tasks) largest = std::max(largest, task.lag);
  return largest;
}

std::vector<bool> find_memory_across_passes(const TaskGraph& graph) {
  std::vector<std::optional<int>> lags(graph.buffers.size());  // by root, of the first task
  std::vector<bool> across(graph.buffers.size());
  auto use = [&](BufferId id, int lag) {
    std::size_t root = graph.root(id).index();
    if (lags[root].value_or(lag) != lag) across[root] = true;
    lags[root] = lag;
  };
  for (const Task& task : graph.tasks) {
    for (const BufferUse& operand : task.uses) use(operand.buffer, task.lag);
    if (task.scratch.valid()) use(task.scratch, task.lag);
  }
  return across;
}

std::vector<std::size_t> loop_order(const TaskGraph& graph) {
  std::map<int, std::vector<std::size_t>> by_lag;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) by_lag[graph.tasks[at].lag].push_back(at);
  if (by_lag.empty()) return {};
  if (by_lag.size() == 1) return std::move(by_lag.begin()->second);
  PassOrder order(graph);
  for (const auto& [lag, tasks] : by_lag) order.add(tasks);
  return order.take();
}

}  // namespace troika
