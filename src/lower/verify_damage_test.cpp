// The verifier against brute force: every dependency of a small program is dropped, every buffer is
// moved onto others, and what the verifier says is compared with what all pairs of tasks say.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/testing/test_effort.h"
#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/check_memory.h"
#include "taskgraph/check_order.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

constexpr std::size_t kSteps = 2;

Range bytes_in_root(const TaskGraph& graph, BufferId id) {
  std::int64_t begin = graph.offset_in_root(id).count;
  return {begin, begin + graph[id].bytes().count};
}

bool conflict_in_bytes(const TaskGraph& graph, const Task& a, const Task& b) {
  for (const BufferUse& one : a.uses)
    for (const BufferUse& other : b.uses)
      if (graph.root(one.buffer) == graph.root(other.buffer) &&
          (one.access != Access::read || other.access != Access::read) &&
          !intersect(bytes_in_root(graph, one.buffer), bytes_in_root(graph, other.buffer)).empty())
        return true;
  return false;
}

/// By task, which other ones conflict with it.
std::vector<std::vector<bool>> find_conflicts(const TaskGraph& graph) {
  std::size_t count = graph.tasks.size();
  std::vector<std::vector<bool>> found(count, std::vector<bool>(count));
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b)
      found[a][b] = conflict_in_bytes(graph, graph.tasks[a], graph.tasks[b]);
  return found;
}

/// Whether two tasks meet in memory that outlives a step.
bool meet_in_next_step(const TaskGraph& graph, const std::vector<bool>& across_passes,
                       const Task& a, const Task& b) {
  auto strip = [&](Task task) {
    std::erase_if(task.uses, [&](const BufferUse& use) {
      BufferId root = graph.root(use.buffer);
      return !graph[root].persistent && !across_passes[root.index()];
    });
    return task;
  };
  return conflict_in_bytes(graph, strip(a), strip(b));
}

/// By brute force over two steps, all pairs: whether dependencies order all that conflict.
class AllPairs {
 public:
  explicit AllPairs(const TaskGraph& graph)
      : count_(graph.tasks.size()), conflicts_(find_conflicts(graph)), next_(conflicts_) {
    std::vector<bool> across_passes = find_memory_across_passes(graph);
    for (std::size_t a = 0; a < count_; ++a)
      for (std::size_t b = 0; b < count_; ++b)
        next_[a][b] = meet_in_next_step(graph, across_passes, graph.tasks[a], graph.tasks[b]);
  }

  bool are_ordered(const std::vector<Dependency>& dependencies) const {
    std::size_t all = kSteps * count_;
    std::vector<std::vector<bool>> before(all, std::vector<bool>(all));  // [later][earlier]
    std::vector<std::vector<std::size_t>> into(all);
    for (const Dependency& edge : dependencies)
      for (std::size_t step = static_cast<std::size_t>(edge.distance); step < kSteps; ++step)
        into[step * count_ + edge.to].push_back(
            (step - static_cast<std::size_t>(edge.distance)) * count_ + edge.from);
    for (std::size_t to = 0; to < all; ++to)
      for (std::size_t from : into[to]) {
        before[to][from] = true;
        for (std::size_t at = 0; at < all; ++at)
          if (before[from][at]) before[to][at] = true;
      }
    for (std::size_t to = 0; to < all; ++to)
      for (std::size_t from = 0; from < to; ++from) {
        bool same_step = to / count_ == from / count_;
        const auto& pairs = same_step ? conflicts_ : next_;
        if (pairs[from % count_][to % count_] && !before[to][from]) return false;
      }
    return true;
  }

 private:
  std::size_t count_;
  std::vector<std::vector<bool>> conflicts_, next_;  // within a step, and to the next one
};

struct DamagedCase {
  const char* plan;
  std::size_t devices;
  bool sliced;
};
void PrintTo(const DamagedCase& c, std::ostream* out) { *out << c.plan << c.devices << c.sliced; }

class DamagedProgram : public testing::TestWithParam<DamagedCase> {
 protected:
  DamagedProgram() {
    Lowered model;
    model.machine.devices.resize(GetParam().devices);
    model.strategy = ready_strategy(GetParam().plan, model.graph, model.machine);
    model.strategy.sync.sliced_update = GetParam().sliced;
    model.kernels.in_place = true;
    graph = model.run();
  }

  bool is_refused(const TaskGraph& damaged) const {
    try {
      verify(damaged, Stage::placed);
      return false;
    } catch (const Bug&) {
      return true;
    }
  }

  TaskGraph graph;
};

TEST_P(DamagedProgram, IsRefusedExactlyWhenADroppedDependencyLeavesAPairUnordered) {
  AllPairs pairs(graph);
  ASSERT_TRUE(pairs.are_ordered(graph.dependencies));
  ASSERT_FALSE(is_refused(graph));
  std::size_t needed = 0;
  for (std::size_t at = 0; at < graph.dependencies.size(); ++at) {
    TaskGraph damaged = graph;
    damaged.dependencies.erase(damaged.dependencies.begin() + static_cast<std::ptrdiff_t>(at));
    bool is_needed = !pairs.are_ordered(damaged.dependencies);
    const Dependency& edge = graph.dependencies[at];
    EXPECT_EQ(is_refused(damaged), is_needed) << graph.tasks[edge.from].name << " -> "
                                              << graph.tasks[edge.to].name << " " << edge.distance;
    needed += is_needed ? 1 : 0;
  }
  EXPECT_GT(needed, graph.dependencies.size() / 2);
}

/// When the value that a buffer holds in a step is there, in moments of an unrolled loop.
struct Life {
  std::size_t root, step, first, last;
};

std::vector<Life> lives_of(const TaskGraph& graph) {
  std::map<std::pair<std::size_t, std::size_t>, Life> lives;  // by root and step
  std::size_t now = 0;
  auto touch = [&](BufferId id, std::size_t step) {
    std::size_t root = graph.root(id).index();
    if (graph.buffers[root].persistent) return;
    lives.try_emplace({root, step}, Life{root, step, now, now}).first->second.last = now;
  };
  for (std::size_t pass = 0; pass <= kSteps; ++pass) {
    for (const auto& [name, id] : graph.inputs) touch(id, pass);
    ++now;
    for (std::size_t at : loop_order(graph)) {
      const Task& task = graph.tasks[at];
      std::size_t step = pass - static_cast<std::size_t>(task.lag);
      if (step > pass) continue;
      for (const BufferUse& use : task.uses) touch(use.buffer, step);
      if (task.scratch.valid()) touch(task.scratch, step);
      ++now;
    }
    for (std::size_t at = 0; at < graph.buffers.size(); ++at)
      if (graph.buffers[at].held) touch(BufferId(at), pass);
    ++now;
  }
  std::vector<Life> all;
  for (const auto& [key, life] : lives) all.push_back(life);
  return all;
}

bool overlap_somewhere(const TaskGraph& graph, const std::vector<Life>& lives) {
  for (const Life& a : lives)
    for (const Life& b : lives) {
      const BufferSpec &one = graph.buffers[a.root], &other = graph.buffers[b.root];
      bool meet = one.device == other.device && one.offset < other.offset + other.bytes() &&
                  other.offset < one.offset + one.bytes();
      if (&a < &b && meet && a.first <= b.last && b.first <= a.last) return true;
    }
  return false;
}

TEST_P(DamagedProgram, IsRefusedExactlyWhenAMovedBufferMeetsALivingOne) {
  std::vector<Life> lives = lives_of(graph);
  ASSERT_FALSE(overlap_somewhere(graph, lives));
  std::set<std::size_t> roots;
  for (const Life& life : lives) roots.insert(life.root);
  // Pairs are tried in square time; a third of the buffers is enough where it is slow.
  if (asks_less()) std::erase_if(roots, [](std::size_t root) { return root % 3 != 0; });
  int refused = 0, taken = 0;
  for (std::size_t moved : roots)
    for (std::size_t onto : roots) {
      TaskGraph damaged = graph;
      BufferSpec& buffer = damaged.buffers[moved];
      buffer.offset = graph.buffers[onto].offset;
      if (buffer.offset + buffer.bytes() > graph.arena[buffer.device.index()]) continue;
      bool meets = overlap_somewhere(damaged, lives);
      EXPECT_EQ(is_refused(damaged), meets) << buffer.name << " onto " << graph.buffers[onto].name;
      ++(meets ? refused : taken);
    }
  EXPECT_GT(refused, 0);
  EXPECT_GT(taken, 0);
}

TEST_P(DamagedProgram, IsRefusedWhenABufferLeavesTheArena) {
  std::set<std::size_t> roots;
  for (const Life& life : lives_of(graph)) roots.insert(life.root);
  for (std::size_t moved : roots)
    for (std::int64_t by : {-1, 1}) {
      TaskGraph damaged = graph;
      BufferSpec& buffer = damaged.buffers[moved];
      buffer.offset =
          by < 0 ? Bytes{-1} : damaged.arena[buffer.device.index()] - buffer.bytes() + Bytes{1};
      EXPECT_TRUE(is_refused(damaged)) << buffer.name;
    }
}

TEST_P(DamagedProgram, AnOrderThatRunsAConflictingPairTheOtherWayRoundIsRefused) {
  std::vector<std::size_t> order = loop_order(graph);
  EXPECT_NO_THROW(check_order(graph, order));
  for (std::size_t at = 0; at + 1 < order.size(); ++at) {
    const Task &first = graph.tasks[order[at]], &second = graph.tasks[order[at + 1]];
    if (!conflict_in_bytes(graph, first, second)) continue;
    std::vector<std::size_t> swapped = order;
    std::swap(swapped[at], swapped[at + 1]);
    EXPECT_THROW(check_order(graph, swapped), Bug) << first.name << " and " << second.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, DamagedProgram,
                         testing::Values(DamagedCase{"single", 1, false},
                                         DamagedCase{"data", 2, false},
                                         DamagedCase{"data", 3, true},
                                         DamagedCase{"tensor", 2, false}),
                         [](const auto& row) {
                           return row.param.plan + std::to_string(row.param.devices) +
                                  (row.param.sliced ? "_sliced" : "");
                         });

}  // namespace
}  // namespace troika
