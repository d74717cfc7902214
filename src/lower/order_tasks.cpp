#include "lower/order_tasks.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace troika {
namespace {

/// So many tasks may run before a device makes sure that what it sent was taken.
constexpr int kSentAhead = 16;

/// Tasks that touched a memory so far.
struct Touched {
  std::vector<std::size_t> writers, readers;
};

/// A place in the new list: with (`task`), before it (`rank` < 0) or behind it.
struct Place {
  std::size_t task = 0;
  std::int64_t rank = 0;

  auto operator<=>(const Place&) const = default;
};

/// Walks the tasks of a graph in one direction and tells whom each of them conflicts with: both
/// touch the same memory of the device, and one of them writes it.
class Conflicts {
 public:
  explicit Conflicts(const TaskGraph& graph) : graph_(graph), touched_(graph.buffers.size()) {}

  std::vector<std::size_t> with(std::size_t at) const {
    std::vector<std::size_t> found;
    for (const auto& [root, writes] : memory_of(at)) {
      const Touched& memory = touched_[root];
      found.insert(found.end(), memory.writers.begin(), memory.writers.end());
      if (writes) found.insert(found.end(), memory.readers.begin(), memory.readers.end());
    }
    return found;
  }

  void add(std::size_t at) {
    for (const auto& [root, writes] : memory_of(at))
      (writes ? touched_[root].writers : touched_[root].readers).push_back(at);
  }

 private:
  struct UsedRoot {
    std::size_t root;
    bool writes;
  };
  /// The roots that a task touches, each once; they are few, however many views it reads.
  std::vector<UsedRoot> memory_of(std::size_t at) const {
    std::vector<UsedRoot> roots;
    for (const BufferUse& use : graph_.tasks[at].uses) {
      std::size_t root = graph_.root(use.buffer).index();
      auto known = std::ranges::find(roots, root, &UsedRoot::root);
      if (known == roots.end()) known = roots.insert(known, {root, false});
      known->writes |= use.access != Access::read;
    }
    return roots;
  }

  const TaskGraph& graph_;
  std::vector<Touched> touched_;  // by root buffer
};

void reorder(TaskGraph& graph, const std::vector<Place>& places) {
  std::vector<std::size_t> order(graph.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return places[at]; });
  std::vector<Task> tasks;
  for (std::size_t at : order) tasks.push_back(std::move(graph.tasks[at]));
  graph.tasks = std::move(tasks);
}

std::vector<Place> listed(const TaskGraph& graph) {
  std::vector<Place> places;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) places.push_back({at, 0});
  return places;
}

/// Given a task and the earlier ones that it must stay behind: may it be moved right behind them?
using MayRise = std::function<bool(std::size_t, const std::vector<std::size_t>&)>;

void raise(TaskGraph& graph, const MayRise& may_rise) {
  std::vector<Place> places = listed(graph);
  Conflicts before(graph);
  std::int64_t rank = 0;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    std::vector<std::size_t> behind = before.with(at);
    if (!behind.empty() && may_rise(at, behind)) {
      Place last;
      for (std::size_t task : behind) last = std::max(last, places[task]);
      places[at] = {last.task, ++rank};
    }
    before.add(at);
  }
  reorder(graph, places);
}

/// Given a task and the later ones that must stay behind it: before which shall it be moved?
using FindLower = std::function<std::size_t(std::size_t, const std::vector<std::size_t>&)>;
constexpr std::size_t kStays = static_cast<std::size_t>(-1);

void lower_in_list(TaskGraph& graph, const FindLower& find) {
  std::vector<Place> places = listed(graph);
  Conflicts after(graph);
  std::int64_t rank = 0;
  for (std::size_t at = graph.tasks.size(); at-- > 0;) {
    std::vector<std::size_t> ahead = after.with(at);
    std::size_t target = find(at, ahead);
    if (target != kStays) {
      Place first{target, 0};
      for (std::size_t task : ahead) first = std::min(first, places[task]);
      places[at] = {first.task, --rank};
    }
    after.add(at);
  }
  reorder(graph, places);
}

/// Copies, sums and reorders whose result is handed over to a message next.
std::vector<bool> find_feeders(const TaskGraph& graph) {
  std::vector<bool> feeds(graph.tasks.size());
  std::vector<bool> starts_next(graph.buffers.size());  // by root: what the next task does with it
  for (std::size_t at = graph.tasks.size(); at-- > 0;) {
    const Task& task = graph.tasks[at];
    feeds[at] = is_copy(task) && starts_next[graph.root(task.uses.back().buffer).index()];
    for (const BufferUse& use : task.uses)
      starts_next[graph.root(use.buffer).index()] = task.kind == TaskKind::start || feeds[at];
  }
  return feeds;
}

/// Where a device makes sure that its messages were taken.
class EndsOfSending {
 public:
  explicit EndsOfSending(const TaskGraph& graph)
      : graph_(graph), last_use_(graph.buffers.size(), 0), computing_(graph.arena.size()) {
    for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
      const Task& task = graph.tasks[at];
      if (!task.computes()) continue;
      computing_[task.device.index()].push_back(at);
      for (const BufferUse& use : task.uses) last_use_[graph.root(use.buffer).index()] = at;
    }
  }

  /// The task before which that is: the device's own last use of what it sends in `at`, or some
  /// tasks later.
  std::size_t find(std::size_t at) const {
    const Task& task = graph_.tasks[at];
    std::size_t last_use = last_use_[graph_.root(task.uses[0].buffer).index()];
    if (last_use > at) return last_use;
    const std::vector<std::size_t>& own = computing_[task.device.index()];
    auto ahead = std::ranges::upper_bound(own, at);
    bool ends = own.end() - ahead < kSentAhead;
    return ends ? graph_.tasks.size() : ahead[kSentAhead - 1];
  }

 private:
  const TaskGraph& graph_;
  std::vector<std::size_t> last_use_;                // by root; 0: none
  std::vector<std::vector<std::size_t>> computing_;  // tasks by device
};

}  // namespace

bool is_copy(const Task& task) {
  return task.computes() &&
         (std::holds_alternative<Assemble>(task.key.op) ||
          std::holds_alternative<Sum>(task.key.op) || std::holds_alternative<Reorder>(task.key.op));
}

void order_updates(TaskGraph& graph) {
  raise(graph, [&](std::size_t at, const std::vector<std::size_t>& behind) {
    const Task& task = graph.tasks[at];
    if (!task.computes() || task.key.phase != Phase::update ||
        std::holds_alternative<Guard>(task.key.op))
      return false;
    return std::ranges::none_of(behind,
                                [&](std::size_t other) { return !graph.tasks[other].computes(); });
  });
  if (graph.communications.empty()) return;
  lower_in_list(graph, [&](std::size_t at, const std::vector<std::size_t>& ahead) {
    bool is_guard = std::holds_alternative<Guard>(graph.tasks[at].key.op);
    return is_guard && !ahead.empty() ? *std::ranges::min_element(ahead) : kStays;
  });
}

void start_early(TaskGraph& graph) {
  std::vector<bool> feeds = find_feeders(graph);
  raise(graph, [&](std::size_t at, const std::vector<std::size_t>&) {
    return graph.tasks[at].kind == TaskKind::start || feeds[at];
  });
}

void finish_late(TaskGraph& graph) {
  EndsOfSending ends(graph);
  lower_in_list(graph, [&](std::size_t at, const std::vector<std::size_t>& ahead) {
    const Task& task = graph.tasks[at];
    if (task.kind != TaskKind::finish) return kStays;
    if (!ahead.empty()) return *std::ranges::min_element(ahead);
    bool sends = task.uses[0].access == Access::read;
    return sends ? ends.find(at) : graph.tasks.size();
  });
}

void wait_at_once(TaskGraph& graph) {
  std::vector<std::size_t> first_finish(graph.communications.size(), graph.tasks.size());
  for (std::size_t at = graph.tasks.size(); at-- > 0;)
    if (graph.tasks[at].kind == TaskKind::finish)
      first_finish[graph.tasks[at].communication.index()] = at;
  std::vector<Place> places = listed(graph);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    if (!task.computes())
      places[at] = {first_finish[task.communication.index()],
                    task.kind == TaskKind::start ? -1 : 0};
  }
  reorder(graph, places);
}

}  // namespace troika
