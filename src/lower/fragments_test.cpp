#include "lower/fragments.h"

#include <gtest/gtest.h>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"

namespace troika {
namespace {

struct Kept : Lowered {
  Kept() {
    machine.devices.resize(4);
    strategy = data_parallel(graph, machine);
  }
  /// What was made anew for this lowering.
  std::pair<std::size_t, std::size_t> made_now() {
    std::size_t phases = cache.phases_made(), edges = cache.edges_made();
    LowerRequest asked = request();
    asked.fragments = &cache;
    (void)rows_needed(asked);
    return {cache.phases_made() - phases, cache.edges_made() - edges};
  }
  FragmentCache cache;
};

TEST(Fragments, AreMadeOnce) {
  Kept kept;
  EXPECT_GT(kept.made_now().first, 0u);
  EXPECT_EQ(kept.made_now(), (std::pair<std::size_t, std::size_t>{0, 0}));
}

TEST(Fragments, AChangedSplitRedoesItsOperatorAndItsEdgesOnly) {
  Kept kept;
  std::size_t all = kept.made_now().first;
  kept.strategy.splits["b"] = {.factors = dense({{"n", 2}, {"i", 2}})};
  auto [phases, edges] = kept.made_now();
  EXPECT_EQ(phases, 3u);  // forward, backward_data and backward_weight of b
  EXPECT_LT(phases, all / 3);
  // Its input, its output, its weight's gradient, the gradients of both: twice each at most, as
  // exchanges and as assemblies.
  EXPECT_GT(edges, 0u);
  EXPECT_LE(edges, 10u);
  kept.strategy = data_parallel(kept.graph, kept.machine);
  EXPECT_EQ(kept.made_now(), (std::pair<std::size_t, std::size_t>{0, 0}));
}

TEST(Fragments, EqualOperatorsShareOne) {
  Kept kept;
  kept.made_now();
  std::size_t before = kept.cache.phases_made();
  Graph twice = kept.graph;
  for (Operator& op : twice.operators) op.name += "_again";
  Strategy renamed;
  for (const auto& [name, split] : kept.strategy.splits) renamed.splits[name + "_again"] = split;
  kept.graph = twice;
  kept.strategy = renamed;
  kept.made_now();
  EXPECT_EQ(kept.cache.phases_made(), before);
}

}  // namespace
}  // namespace troika
