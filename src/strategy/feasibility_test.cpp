#include <gtest/gtest.h>

#include "strategy/split_check.h"
#include "strategy/strategy.h"
#include "strategy/testing/small_model.h"

namespace troika {
namespace {

TEST(Feasibility, TilesOnAnyDevicesFit) {
  EXPECT_EQ(answer("conv", {.factors = {{"n", 3}}, .devices = on({2, 0, 2})}), "fits");
  EXPECT_EQ(answer("conv", {.factors = {{"h", 2}, {"o", 2}}, .devices = on({0, 1, 2, 3})}), "fits");
  EXPECT_EQ(answer("conv", {.factors = {{"i", 2}, {"", 2}}, .devices = on({0, 1, 2, 3})}), "fits");
  EXPECT_EQ(answer("conv", {.factors = {{.axis = "n", .degree = 2, .weights = {1, 7}}},
                            .devices = on({0, 1})}),
            "fits");
}

TEST(Feasibility, NamesAnOperatorAndAnAxisThatAreNotThere) {
  EXPECT_EQ(answer("covn", {.devices = on({0})}),
            "the model 'small' has no operator 'covn'; did you mean 'conv'?");
  EXPECT_EQ(answer("conv", {.factors = {{"c", 2}}, .devices = on({0, 1})}),
            "operator 'conv' has no axis 'c'; it has n, h, w, o, i");
  EXPECT_EQ(
      answer("conv", {.factors = {{.axis = "c", .degree = 1, .weights = {1}}}, .devices = on({0})}),
      "operator 'conv' has no axis 'c'; it has n, h, w, o, i");
}

TEST(Feasibility, SaysHowManyWaysAnAxisCanBeCut) {
  EXPECT_EQ(answer("conv", {.factors = {{"o", 5}}}),
            "operator 'conv' cannot be split 5 ways along 'o', which has 4 indices; 1 to 4 ways "
            "fit");
  EXPECT_EQ(answer("conv", {.factors = {{"o", 0}}}),
            "operator 'conv' cannot be split 0 ways along 'o', which has 4 indices; 1 to 4 ways "
            "fit");
  EXPECT_EQ(answer("conv", {.factors = {{"n", 5}}, .devices = on({0, 1, 2, 3, 0})}, 2),
            "operator 'conv' cannot be split 5 ways along 'n', which has 4 indices in a "
            "micro-batch; 1 to 4 ways fit");
}

TEST(Feasibility, WeightsAreOneForEachPartAboveZeroAndLeaveNoTileEmpty) {
  auto weighted = [](std::vector<double> weights) {
    return answer("conv", {.factors = {{.axis = "o", .degree = 2, .weights = std::move(weights)}},
                           .devices = on({0, 1})});
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
  EXPECT_EQ(answer("conv", {.factors = {{"o", 2}}, .devices = on({0})}),
            "operator 'conv' has 2 tiles but 1 devices; list one for each tile");
  EXPECT_EQ(answer("conv", {.factors = {{"o", 2}, {"", 2}}, .devices = on({0, 1})}),
            "operator 'conv' has 2 tiles in 2 replicas but 2 devices; list 4, those of one tile "
            "next to each other");
  EXPECT_EQ(answer("conv", {.factors = {{"", 0}}}),
            "operator 'conv' has 0 replicas; 1 to 4 fit, each on a device of its own");
  EXPECT_EQ(answer("conv", {.devices = on({7})}),
            "operator 'conv' is placed on device 7, but the run has 4 devices, counted from 0");
  EXPECT_EQ(
      answer("conv", {.factors = {{"o", 2}, {"", 2}}, .devices = on({0, 1, 3, 3})}),
      "operator 'conv' has two replicas of tile 1 on device 3; each needs a device of its own");
}

TEST(Feasibility, HugeNumbersAreRefusedWithoutOverflow) {
  EXPECT_EQ(answer("conv", {.factors = {{"", std::int64_t{1} << 62}}, .devices = on({0})}),
            "operator 'conv' has 4611686018427387904 replicas; 1 to 4 fit, each on a device of its "
            "own");
  EXPECT_EQ(answer("conv", {.factors = {{"o", std::int64_t{1} << 62}}}),
            "operator 'conv' cannot be split 4611686018427387904 ways along 'o', which has 4 "
            "indices; 1 to 4 ways fit");
  EXPECT_EQ(answer("conv", {.factors = {{.axis = "o", .degree = 2, .weights = {1e308, 1e308}}},
                            .devices = on({0, 1})}),
            "operator 'conv' has the weight 1e+308 along 'o'; weights are above 0 and at most "
            "1e+12");
}

TEST(Feasibility, BatchNormTilesHoldWholeShardsOrLieInsideOne) {
  EXPECT_EQ(
      answer("bn", {.factors = {{"n", 3}}, .devices = on({0, 1, 2})}),
      "operator 'bn' cannot be split so: batch_norm with shards of 4 samples cannot be cut to "
      "samples 3 to 6; a tile must hold whole shards or lie inside one; what fits: 1, 2, 4, "
      "5, 6, 7, 8 ways along 'n'");
  EXPECT_EQ(answer("bn", {.factors = {{"n", 4}}, .devices = on({0, 1, 2, 3})}), "fits");
  EXPECT_EQ(answer("bn", {.factors = {{.axis = "n", .degree = 3, .weights = {4, 2, 2}}},
                          .devices = on({0, 1, 2})}),
            "fits");
}

TEST(Feasibility, MicroBatchesHoldWholeShards) {
  Split split{.factors = {{"n", 2}}, .devices = on({0, 1})};
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

TEST(Feasibility, ABucketHoldsSomething) {
  Strategy strategy;
  strategy.sync.bucket = Bytes{0};
  EXPECT_EQ(why_infeasible(strategy, small_model(), machine_of(1)),
            "gradients cannot travel in buckets of 0 bytes; give at least 1");
}

TEST(Feasibility, BucketsNameEachParameterOnce) {
  auto with = [](std::vector<std::vector<std::string>> buckets) {
    Strategy strategy;
    strategy.sync.buckets = std::move(buckets);
    return why_infeasible(strategy, small_model(), machine_of(1)).value_or("fits");
  };
  EXPECT_EQ(with({{"bn.gamma", "bn.beta"}, {"conv.weight"}}), "fits");
  EXPECT_EQ(with({{"bn.gama"}}),
            "'buckets' names 'bn.gama', but the model 'small' has no such parameter; did you mean "
            "'bn.gamma'?");
  EXPECT_EQ(with({{"bn.gamma"}, {"bn.beta", "bn.gamma"}}),
            "'buckets' names 'bn.gamma' twice; each gradient travels once");
  EXPECT_EQ(with({{"bn.running_mean"}}),
            "'buckets' names 'bn.running_mean', which is a state without a gradient");
  Strategy both;
  both.sync.buckets = {{"conv.weight", "of.another.graph"}, {"of.another.graph"}};
  EXPECT_EQ(restricted(both, small_model()).sync.buckets,
            (std::vector<std::vector<std::string>>{{"conv.weight"}}));
}

}  // namespace
}  // namespace troika
