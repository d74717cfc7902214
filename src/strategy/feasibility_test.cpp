#include <gtest/gtest.h>

#include "graph/text.h"
#include "strategy/split_check.h"
#include "strategy/strategy.h"

namespace troika {
namespace {

const char* kSmallModel = R"(graph small
input x f32[8,4,6,6]
parameter conv.weight f32[4,4,3,3] zeros
parameter bn.gamma f32[4] ones
parameter bn.beta f32[4] zeros
parameter bn.running_mean f32[4] zeros state
parameter bn.running_var f32[4] ones state
operator conv conv2d{out=4,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (x) [conv.weight] -> conv
operator bn batch_norm{shards=2} (conv) [bn.gamma bn.beta bn.running_mean bn.running_var] -> bn
)";

Graph small_model() { return parse_graph(kSmallModel); }
Machine machine_of(std::size_t devices) {
  return {std::vector<DeviceSpec>(devices, {.name = "cpu", .kind = "test"})};
}

std::vector<DeviceId> on(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> ids;
  for (std::size_t index : indices) ids.push_back(DeviceId(index));
  return ids;
}

/// The sentence against this split of an operator on four devices, or "fits".
std::string answer(const std::string& op, const Split& split, std::int64_t micro_batches = 1) {
  Strategy strategy{.splits = {{op, split}}, .micro_batches = micro_batches};
  return why_infeasible(strategy, small_model(), machine_of(4)).value_or("fits");
}

TEST(Feasibility, TilesOnAnyDevicesFit) {
  EXPECT_EQ(answer("conv", {.degrees = {{"n", 3}}, .devices = on({2, 0, 2})}), "fits");
  EXPECT_EQ(answer("conv", {.degrees = {{"h", 2}, {"o", 2}}, .devices = on({0, 1, 2, 3})}), "fits");
  EXPECT_EQ(answer("conv", {.degrees = {{"i", 2}}, .replicas = 2, .devices = on({0, 1, 2, 3})}),
            "fits");
  EXPECT_EQ(
      answer("conv", {.degrees = {{"n", 2}}, .weights = {{"n", {1, 7}}}, .devices = on({0, 1})}),
      "fits");
}

TEST(Feasibility, NamesAnOperatorAndAnAxisThatAreNotThere) {
  EXPECT_EQ(answer("covn", {.devices = on({0})}),
            "the model 'small' has no operator 'covn'; did you mean 'conv'?");
  EXPECT_EQ(answer("conv", {.degrees = {{"c", 2}}, .devices = on({0, 1})}),
            "operator 'conv' has no axis 'c'; it has n, h, w, o, i");
  EXPECT_EQ(answer("conv", {.weights = {{"c", {1}}}, .devices = on({0})}),
            "operator 'conv' has no axis 'c'; it has n, h, w, o, i");
}

TEST(Feasibility, SaysHowManyWaysAnAxisCanBeCut) {
  EXPECT_EQ(answer("conv", {.degrees = {{"o", 5}}}),
            "operator 'conv' cannot be split 5 ways along 'o', which has 4 indices; 1 to 4 ways "
            "fit");
  EXPECT_EQ(answer("conv", {.degrees = {{"o", 0}}}),
            "operator 'conv' cannot be split 0 ways along 'o', which has 4 indices; 1 to 4 ways "
            "fit");
  EXPECT_EQ(answer("conv", {.degrees = {{"n", 5}}, .devices = on({0, 1, 2, 3, 0})}, 2),
            "operator 'conv' cannot be split 5 ways along 'n', which has 4 indices in a "
            "micro-batch; 1 to 4 ways fit");
}

TEST(Feasibility, WeightsAreOneForEachPartAboveZeroAndLeaveNoTileEmpty) {
  auto weighted = [](std::vector<double> weights) {
    return answer(
        "conv",
        {.degrees = {{"o", 2}}, .weights = {{"o", std::move(weights)}}, .devices = on({0, 1})});
  };
  EXPECT_EQ(weighted({1, 2, 3}),
            "operator 'conv' has 3 weights along 'o', which is split 2 ways; give one weight for "
            "each part");
  EXPECT_EQ(weighted({1, 0}),
            "operator 'conv' has the weight 0 along 'o'; weights are above 0 and at most 1e+12");
  EXPECT_EQ(weighted({1, -2}),
            "operator 'conv' has the weight -2 along 'o'; weights are above 0 and at most 1e+12");
  EXPECT_EQ(weighted({1, 20}),
            "operator 'conv' would get nothing in part 0 along 'o', because its weight is 1 and "
            "there are 4 indices; make the weights more alike, or split fewer ways");
  EXPECT_EQ(weighted({1, 6}), "fits");
}

TEST(Feasibility, CountsDevicesByTilesAndReplicas) {
  EXPECT_EQ(answer("conv", {.degrees = {{"o", 2}}, .devices = on({0})}),
            "operator 'conv' has 2 tiles but 1 devices; list one for each tile");
  EXPECT_EQ(answer("conv", {.degrees = {{"o", 2}}, .replicas = 2, .devices = on({0, 1})}),
            "operator 'conv' has 2 tiles in 2 replicas but 2 devices; list 4, those of one tile "
            "next to each other");
  EXPECT_EQ(answer("conv", {.replicas = 0}),
            "operator 'conv' has 0 replicas; 1 to 4 fit, each on a device of its own");
  EXPECT_EQ(answer("conv", {.devices = on({7})}),
            "operator 'conv' is placed on device 7, but the run has 4 devices, counted from 0");
  EXPECT_EQ(
      answer("conv", {.degrees = {{"o", 2}}, .replicas = 2, .devices = on({0, 1, 3, 3})}),
      "operator 'conv' has two replicas of tile 1 on device 3; each needs a device of its own");
}

TEST(Feasibility, HugeNumbersAreRefusedWithoutOverflow) {
  EXPECT_EQ(answer("conv", {.replicas = std::int64_t{1} << 62, .devices = on({0})}),
            "operator 'conv' has 4611686018427387904 replicas; 1 to 4 fit, each on a device of its "
            "own");
  EXPECT_EQ(answer("conv", {.degrees = {{"o", std::int64_t{1} << 62}}}),
            "operator 'conv' cannot be split 4611686018427387904 ways along 'o', which has 4 "
            "indices; 1 to 4 ways fit");
  EXPECT_EQ(
      answer("conv",
             {.degrees = {{"o", 2}}, .weights = {{"o", {1e308, 1e308}}}, .devices = on({0, 1})}),
      "operator 'conv' has the weight 1e+308 along 'o'; weights are above 0 and at most "
      "1e+12");
}

TEST(Feasibility, BatchNormTilesHoldWholeShardsOrLieInsideOne) {
  EXPECT_EQ(
      answer("bn", {.degrees = {{"n", 3}}, .devices = on({0, 1, 2})}),
      "operator 'bn' cannot be split so: batch_norm with shards of 4 samples cannot be cut to "
      "samples 3 to 6; a tile must hold whole shards or lie inside one; what fits: 1, 2, 4, "
      "5, 6, 7, 8 ways along 'n'");
  EXPECT_EQ(answer("bn", {.degrees = {{"n", 4}}, .devices = on({0, 1, 2, 3})}), "fits");
  EXPECT_EQ(
      answer("bn",
             {.degrees = {{"n", 3}}, .weights = {{"n", {4, 2, 2}}}, .devices = on({0, 1, 2})}),
      "fits");
}

TEST(Feasibility, MicroBatchesHoldWholeShards) {
  Split split{.degrees = {{"n", 2}}, .devices = on({0, 1})};
  EXPECT_EQ(answer("conv", split, 2), "fits");
  EXPECT_EQ(answer("conv", split, 4),
            "a micro-batch of 2 samples would cut the shards of 4 samples that operator 'bn' takes "
            "its statistics over; use more shards or fewer micro-batches");
  EXPECT_EQ(answer("conv", split, 3),
            "operator 'conv' sees a batch of 8, which 3 micro-batches do not divide");
  EXPECT_EQ(answer("conv", split, 0), "0 micro-batches are asked for; at least 1 is needed");
}

TEST(Feasibility, ColumnsCalledNAreNoSamples) {
  Graph graph = parse_graph(R"(graph product
input a f32[3,6]
input b f32[6,4]
operator c matmul{} (a b) [] -> c
)");
  Strategy strategy{.micro_batches = 2};
  EXPECT_EQ(why_infeasible(strategy, graph, machine_of(1)),
            "operator 'c' has no axis 'n' of samples, so the batch cannot be cut into "
            "micro-batches");
  Signature s = signature(graph, graph.operators[0]);
  EXPECT_EQ(cut_extent(s.axes.at(static_cast<std::size_t>(s.axis("n"))), 2), 4);
}

TEST(Feasibility, AnOperatorWithoutStagesIsNotCutInsideItsWholeParts) {
  Graph graph = small_model();
  Signature s = signature(graph, graph.operators[0]);
  s.axes[0].whole = 4;
  SplitSubject subject{&graph.operators[0], &s};
  EXPECT_EQ(
      why_split_infeasible(subject, {.degrees = {{"n", 4}}, .devices = on({0, 0, 0, 0})},
                           {.devices = 1}),
      "operator 'conv' cannot be split so: it works on 4 indices of 'n' at a time, and a tile "
      "would cut them; what fits: 1, 2 ways along 'n'");
}

TEST(Feasibility, ATileThatSeesPaddingAloneIsNamed) {
  Graph graph = small_model();
  Signature s = signature(graph, graph.operators[0]);
  s.slots[0].dims[2].pad = 4;  // Rows 0 and 1 of the output now lie before the input.
  SplitSubject subject{&graph.operators[0], &s};
  EXPECT_EQ(
      why_split_infeasible(subject, {.degrees = {{"h", 6}}, .devices = on({0, 0, 0, 0, 0, 0})},
                           {.devices = 1}),
      "operator 'conv' cannot be split so: its tile [0:8,0:1,0:6,0:4,0:4] would touch nothing of "
      "'x'; what fits: 1, 2 ways along 'h'");
}

TEST(FixedOrder, WantsEqualRunsOfAPowerOfTwoOfParts) {
  auto ordered = [](const Split& conv, const Split& bn) {
    Strategy strategy{.splits = {{"conv", conv}, {"bn", bn}}};
    strategy.sync.fixed_order = true;
    return why_infeasible(strategy, small_model(), machine_of(4)).value_or("fits");
  };
  const std::string rule =
      "a fixed order needs {n: S} on every operator with samples, S a power of two, and S/P "
      "neighbouring tiles on each of devices 0 to P-1, in their order";
  Split four{.degrees = {{"n", 4}}, .devices = on({0, 0, 1, 1})};
  EXPECT_EQ(ordered(four, four), "fits");
  Split two{.degrees = {{"n", 2}}, .devices = on({0, 1})};
  EXPECT_EQ(ordered(four, two),
            "operator 'bn' is split 2 ways along 'n', others 4 ways, but " + rule);
  Split mixed{.degrees = {{"n", 4}}, .devices = on({0, 1, 0, 1})};
  EXPECT_EQ(ordered(four, mixed), "operator 'bn' has tile 1 on device 1, not 0, but " + rule);
  Split backwards{.degrees = {{"n", 4}}, .devices = on({1, 1, 0, 0})};
  EXPECT_EQ(ordered(backwards, backwards),
            "operator 'conv' has tile 0 on device 1, not 0, but " + rule);
  Split elsewhere{.degrees = {{"n", 4}}, .devices = on({0, 0, 2, 2})};
  EXPECT_EQ(ordered(four, elsewhere), "operator 'bn' has tile 2 on device 2, not 1, but " + rule);
  Split alone{.degrees = {{"n", 4}}, .devices = on({0, 0, 0, 0})};
  EXPECT_EQ(ordered(four, alone), "operator 'bn' is on 1 devices, others on 2, but " + rule);
  Split uneven{.degrees = {{"n", 4}}, .devices = on({0, 0, 1, 2})};
  EXPECT_EQ(ordered(uneven, uneven),
            "operator 'conv' has 4 tiles on 3 devices, which do not divide them, but " + rule);
  Split channels{.degrees = {{"o", 2}}, .devices = on({0, 1})};
  EXPECT_EQ(ordered(channels, four), "operator 'conv' is split 2 ways along 'o', but " + rule);
  Split copies{.degrees = {{"n", 2}}, .replicas = 2, .devices = on({0, 1, 2, 3})};
  EXPECT_EQ(ordered(two, copies), "operator 'bn' has replicas or weights, but " + rule);
  Split six{.degrees = {{"n", 6}}, .devices = on({0, 0, 0, 1, 1, 1})};
  EXPECT_EQ(ordered(six, six), "the batch is in 6 shards, but " + rule + "; 4 or 8 would do");
}

TEST(FixedOrder, TakesTheBatchAsAWhole) {
  Split four{.degrees = {{"n", 4}}, .devices = on({0, 0, 1, 1})};
  Strategy strategy{.splits = {{"conv", four}, {"bn", four}}, .micro_batches = 2};
  strategy.sync.fixed_order = true;
  std::optional<std::string> reason = why_infeasible(strategy, small_model(), machine_of(4));
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("micro-batches"), std::string::npos) << *reason;
}

TEST(FixedOrder, UpdatesWholeParameters) {
  Split four{.degrees = {{"n", 4}}, .devices = on({0, 0, 1, 1})};
  Strategy strategy{.splits = {{"conv", four}, {"bn", four}}};
  strategy.sync.fixed_order = strategy.sync.sliced_update = true;
  std::optional<std::string> reason = why_infeasible(strategy, small_model(), machine_of(4));
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("set sliced_update to false"), std::string::npos) << *reason;
}

TEST(Feasibility, ABucketHoldsSomething) {
  Strategy strategy;
  strategy.sync.bucket = Bytes{0};
  EXPECT_EQ(why_infeasible(strategy, small_model(), machine_of(1)),
            "gradients cannot travel in buckets of 0 bytes; give at least 1");
}

}  // namespace
}  // namespace troika
