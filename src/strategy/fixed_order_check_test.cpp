#include <gtest/gtest.h>

#include "strategy/testing/small_model.h"

namespace troika {
namespace {

TEST(FixedOrder, WantsEqualRunsOfAPowerOfTwoOfParts) {
  auto ordered = [](const Split& conv, const Split& bn) {
    Strategy strategy{.splits = {{"conv", conv}, {"bn", bn}}};
    strategy.sync.fixed_order = true;
    return why_infeasible(strategy, small_model(), machine_of(4)).value_or("fits");
  };
  const std::string rule =
      "a fixed order needs {n: S} on every operator with samples, S a power of two, and S/P "
      "neighbouring tiles on each of devices 0 to P-1, in their order";
  Split four{.factors = {{"n", 4}}, .devices = on({0, 0, 1, 1})};
  EXPECT_EQ(ordered(four, four), "fits");
  Split two{.factors = {{"n", 2}}, .devices = on({0, 1})};
  EXPECT_EQ(ordered(four, two),
            "operator 'bn' is split 2 ways along 'n', others 4 ways, but " + rule);
  Split mixed{.factors = {{"n", 4}}, .devices = on({0, 1, 0, 1})};
  EXPECT_EQ(ordered(four, mixed), "operator 'bn' has tile 1 on device 1, not 0, but " + rule);
  Split backwards{.factors = {{"n", 4}}, .devices = on({1, 1, 0, 0})};
  EXPECT_EQ(ordered(backwards, backwards),
            "operator 'conv' has tile 0 on device 1, not 0, but " + rule);
  Split elsewhere{.factors = {{"n", 4}}, .devices = on({0, 0, 2, 2})};
  EXPECT_EQ(ordered(four, elsewhere), "operator 'bn' has tile 2 on device 2, not 1, but " + rule);
  Split alone{.factors = {{"n", 4}}, .devices = on({0, 0, 0, 0})};
  EXPECT_EQ(ordered(four, alone), "operator 'bn' is on 1 devices, others on 2, but " + rule);
  Split uneven{.factors = {{"n", 4}}, .devices = on({0, 0, 1, 2})};
  EXPECT_EQ(ordered(uneven, uneven),
            "operator 'conv' has 4 tiles on 3 devices, which do not divide them, but " + rule);
  Split channels{.factors = {{"o", 2}}, .devices = on({0, 1})};
  EXPECT_EQ(ordered(channels, four), "operator 'conv' is split 2 ways along 'o', but " + rule);
  Split copies{.factors = {{"n", 2}, {"", 2}}, .devices = on({0, 1, 2, 3})};
  EXPECT_EQ(ordered(two, copies), "operator 'bn' has replicas or weights, but " + rule);
  Split six{.factors = {{"n", 6}}, .devices = on({0, 0, 0, 1, 1, 1})};
  EXPECT_EQ(ordered(six, six), "the batch is in 6 shards, but " + rule + "; 4 or 8 would do");
}

TEST(FixedOrder, UnequalTilesAreCutInOneStep) {
  Graph graph = parse_graph(R"(graph odd
input x f32[10,4]
operator relu activation{} (x) [] -> relu
)");
  auto ordered = [&](const Split& split) {
    Strategy strategy{.splits = {{"relu", split}}};
    strategy.sync.fixed_order = true;
    return why_infeasible(strategy, graph, machine_of(4)).value_or("fits");
  };
  EXPECT_EQ(ordered({.factors = {{"n", 4}}, .devices = on({0, 0, 1, 1})}), "fits");
  // Two halves of five, cut again: 3, 2, 3, 2 in place of 3, 3, 2, 2.
  EXPECT_EQ(ordered({.factors = {{"n", 2}, {"n", 2, 0}}}),
            "operator 'relu' is split along 'n' in several steps, which 4 tiles of 10 samples do "
            "not allow because they are unequal, but a fixed order needs {n: S} on every operator "
            "with samples, S a power of two, and S/P neighbouring tiles on each of devices 0 to "
            "P-1, in their order");
}

TEST(FixedOrder, TakesTheBatchAsAWhole) {
  Split four{.factors = {{"n", 4}}, .devices = on({0, 0, 1, 1})};
  Strategy strategy{.splits = {{"conv", four}, {"bn", four}}, .micro_batches = 2};
  strategy.sync.fixed_order = true;
  std::optional<std::string> reason = why_infeasible(strategy, small_model(), machine_of(4));
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("micro-batches"), std::string::npos) << *reason;
}

TEST(FixedOrder, UpdatesWholeParameters) {
  Split four{.factors = {{"n", 4}}, .devices = on({0, 0, 1, 1})};
  Strategy strategy{.splits = {{"conv", four}, {"bn", four}}};
  strategy.sync.fixed_order = strategy.sync.sliced_update = true;
  std::optional<std::string> reason = why_infeasible(strategy, small_model(), machine_of(4));
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("set sliced_update to false"), std::string::npos) << *reason;
}

}  // namespace
}  // namespace troika
