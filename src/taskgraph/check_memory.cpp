#include "taskgraph/check_memory.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"

namespace troika {
namespace {

void check_bounds(const TaskGraph& graph, BufferId id) {
  const BufferSpec& buffer = graph[id];
  Bytes begin = graph.offset_in_root(id);
  if (buffer.view_of.valid())
    TROIKA_CHECK(Bytes{} <= begin && begin + buffer.bytes() <= graph[graph.root(id)].bytes(),
                 fmt::format("'{}' is larger than what it is a view of", buffer.name));
}

/// Which buffer owns which bytes of one arena. Owners do not overlap.
class Arena {
 public:
  /// Calls lose(root) for each other one that had some of the bytes.
  template <class Lose>
  void take(std::size_t root, Range bytes, const Lose& lose) {
    auto at = owners_.upper_bound(bytes.begin);
    if (at != owners_.begin() && std::prev(at)->second.end > bytes.begin) --at;
    while (at != owners_.end() && at->first < bytes.end) {
      if (at->second.root != root) lose(at->second.root);
      at = owners_.erase(at);
    }
    owners_[bytes.begin] = {bytes.end, root};
  }

 private:
  struct Owner {
    std::int64_t end = 0;
    std::size_t root = 0;
  };
  std::map<std::int64_t, Owner> owners_;  // by where they begin
};

/// Runs passes of the loop on the memory of all devices.
class MemoryReplay {
 public:
  MemoryReplay(const TaskGraph& graph, const std::vector<std::size_t>& order)
      : graph_(graph), order_(order), arenas_(graph.arena.size()), values_(graph.buffers.size()) {
    roots_.reserve(graph.buffers.size());
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
      check_bounds(graph, BufferId(at));
      roots_.push_back(graph.root(BufferId(at)).index());
    }
  }

  void run_pass(int pass) {
    for (const auto& [name, input] : graph_.inputs) begin_value(roots_[input.index()], pass);
    for (std::size_t at : order_) {
      const Task& task = graph_.tasks[at];
      int step = pass - task.lag;
      if (step < 0) continue;
      if (task.scratch.valid()) begin_value(roots_[task.scratch.index()], step);
      for (const BufferUse& use : task.uses) visit(task, use, step);
      // All operands are there until the task is done.
      for (const BufferUse& use : task.uses) require_kept(roots_[use.buffer.index()], task.name);
      if (task.scratch.valid()) require_kept(roots_[task.scratch.index()], task.name);
    }
    for (std::size_t at = 0; at < graph_.buffers.size(); ++at)
      if (graph_.buffers[at].held) require_kept(roots_[at], "the host");
    for (const auto& [name, output] : graph_.outputs)
      require_kept(roots_[output.index()], "the host");
  }

 private:
  /// What a root buffer holds.
  struct Value {
    int step = -1;  ///< Of which step it is; -1: none yet.
    std::size_t lost_to = kNobody;
  };
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  void visit(const Task& task, const BufferUse& use, int step) {
    std::size_t root = roots_[use.buffer.index()];
    const BufferSpec& buffer = graph_.buffers[root];
    TROIKA_CHECK(buffer.device == task.device,
                 fmt::format("task '{}' uses '{}' of another device", task.name, buffer.name));
    if (buffer.persistent || buffer.bytes() == Bytes{}) return;
    Value& value = values_[root];
    if (value.step < step) {
      // A message may bring all of what a member's buffer will hold.
      TROIKA_CHECK(use.access == Access::write || !task.computes(),
                   fmt::format("task '{}' uses '{}' before it is written in that step", task.name,
                               buffer.name));
      return begin_value(root, step);
    }
    TROIKA_CHECK(value.step == step,
                 fmt::format("'{}' is written again before task '{}' of an earlier step uses it",
                             buffer.name, task.name));
    require_kept(root, task.name);
  }

  void begin_value(std::size_t root, int step) {
    const BufferSpec& buffer = graph_.buffers[root];
    if (buffer.persistent || buffer.bytes() == Bytes{}) return;
    Bytes end = buffer.offset + buffer.bytes();
    TROIKA_CHECK(Bytes{} <= buffer.offset && end <= graph_.arena[buffer.device.index()],
                 fmt::format("'{}' leaves the arena", buffer.name));
    arenas_[buffer.device.index()].take(root, {buffer.offset.count, end.count},
                                        [&](std::size_t other) { values_[other].lost_to = root; });
    values_[root] = {.step = step};
  }

  void require_kept(std::size_t root, const std::string& reader) const {
    std::size_t other = values_[root].lost_to;
    if (other == kNobody) return;
    throw Bug(fmt::format("'{}' overwrites '{}', which {} still needs", graph_.buffers[other].name,
                          graph_.buffers[root].name, reader));
  }

  const TaskGraph& graph_;
  const std::vector<std::size_t>& order_;
  std::vector<std::size_t> roots_;  // by buffer
  std::vector<Arena> arenas_;       // by device
  std::vector<Value> values_;       // by root
};

}  // namespace

void check_memory(const TaskGraph& graph, const std::vector<std::size_t>& order) {
  MemoryReplay replay(graph, order);
  // Without lags no step meets another one. With them, the pass after the first one that has tasks
  // of all lags shows whether its values are kept until the next.
  int lag = largest_lag(graph);
  for (int pass = 0; pass <= (lag == 0 ? 0 : lag + 1); ++pass) replay.run_pass(pass);
}

}  // namespace troika
