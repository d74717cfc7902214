#include "strategy/ready.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/text.h"
#include "strategy/grid_split.h"
#include "strategy/testing/random_strategy.h"

namespace troika {
namespace {

using testing::ElementsAre;

/// A convolution over shards of two samples, two linear layers and a loss.
Graph model() {
  return parse_graph(R"(graph small
input x f32[8,4,6,6]
input target i32[8]
input weight f32[8]
parameter conv.weight f32[4,4,3,3] zeros
parameter bn.gamma f32[4] ones
parameter bn.beta f32[4] zeros
parameter bn.running_mean f32[4] zeros state
parameter bn.running_var f32[4] ones state
parameter fc1.weight f32[16,4] zeros
parameter fc1.bias f32[16] zeros
parameter fc2.weight f32[6,16] zeros
operator conv conv2d{out=4,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (x) [conv.weight] -> conv
operator bn batch_norm{shards=4} (conv) [bn.gamma bn.beta bn.running_mean bn.running_var] -> bn
operator relu activation{} (bn) [] -> relu
operator pool global_pool{} (relu) [] -> pool
operator fc1 linear{out=16} (pool) [fc1.weight] -> fc1
operator fc1.bias bias{} (fc1) [fc1.bias] -> fc1.bias
operator fc1.relu activation{} (fc1.bias) [] -> fc1.relu
operator fc2 linear{out=6} (fc1.relu) [fc2.weight] -> fc2
operator loss cross_entropy{} (fc2 target weight) [] -> loss_sum weight_sum
loss loss_sum weight_sum
)");
}

Machine machine(std::size_t devices) { return {std::vector<DeviceSpec>(devices)}; }

/// "n2 o4 r2" for {n: 2, o: 4} and two replicas.
std::string axes_of(const Strategy& strategy, const std::string& op) {
  const Split& split = strategy.splits.at(op);
  std::string text;
  std::map<std::string, std::int64_t> degrees;
  for (const Factor& factor : split.factors)
    if (!factor.axis.empty()) degrees[factor.axis] = degree_along(split, factor.axis);
  for (const auto& [axis, degree] : degrees) text += axis + std::to_string(degree) + " ";
  if (replicas_of(split) > 1) text += "r" + std::to_string(replicas_of(split)) + " ";
  return text.empty() ? "whole" : text.substr(0, text.size() - 1);
}

std::vector<std::string> all_axes(const Strategy& strategy) {
  std::vector<std::string> axes;
  for (const Operator& op : model().operators) axes.push_back(axes_of(strategy, op.name));
  return axes;
}

std::vector<int> devices_of(const Strategy& strategy, const std::string& op) {
  std::vector<int> devices;
  Graph graph = model();
  auto found = std::ranges::find(graph.operators, op, &Operator::name);
  // Other models of this file are not split, so that the axes do not matter.
  Signature s = found == graph.operators.end() ? Signature{} : signature(graph, *found);
  for (DeviceId device : troika::devices_of(s, strategy.splits.at(op)))
    devices.push_back(device.value);
  return devices;
}

TEST(Ready, DataCutsTheSamplesOfEveryOperator) {
  Strategy data = data_parallel(model(), machine(4));
  EXPECT_THAT(all_axes(data), ElementsAre("n4", "n4", "n4", "n4", "n4", "n4", "n4", "n4", "n4"));
  EXPECT_THAT(devices_of(data, "fc1"), ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(has_weights(data.splits.at("fc1")));
}

/// The device of each tile and replica if the factors are the digits of a device's number,
/// outermost first: what a grid means.
std::vector<int> grid_of(const Split& split, const Signature& s, int devices) {
  std::vector<int> expected(static_cast<std::size_t>(devices), -1);
  for (int device = 0; device < devices; ++device) {
    std::map<std::string, std::int64_t> place, scale;
    std::int64_t rest = device, tile = 0;
    for (std::size_t at = split.factors.size(); at-- > 0;) {
      const Factor& factor = split.factors[at];
      std::int64_t& unit = scale.try_emplace(factor.axis, 1).first->second;
      place[factor.axis] += rest % factor.degree * unit;
      unit *= factor.degree;
      rest /= factor.degree;
    }
    for (const Axis& axis : s.axes) tile = tile * degree_along(split, axis.name) + place[axis.name];
    expected.at(static_cast<std::size_t>(tile * replicas_of(split) + place[""])) = device;
  }
  return expected;
}

TEST(Ready, PlansOfARegularMachineAreViewsOfAGrid) {
  Graph graph = model();
  auto expect_grid = [&](const Strategy& strategy, int devices, std::string_view made) {
    for (const Operator& op : graph.operators) {
      SCOPED_TRACE(fmt::format("{} on {}, operator {}", made, devices, op.name));
      const Split& split = strategy.splits.at(op.name);
      EXPECT_TRUE(is_view(split));
      EXPECT_EQ(devices_of(strategy, op.name), grid_of(split, signature(graph, op), devices));
    }
  };
  for (int devices : {1, 2, 3, 4, 6, 8, 12, 16}) {
    Machine regular = machine(static_cast<std::size_t>(devices));
    for (std::size_t at = 0; at < regular.devices.size(); ++at)
      regular.devices[at].node = static_cast<std::int32_t>(at) / 2;
    for (std::string_view name : {"data", "tensor", "spatial", "hybrid", "expert"})
      expect_grid(ready_strategy(name, graph, regular), devices, name);
    if (devices % 2 == 0)
      expect_grid(mixed_parallel(graph, {.data = devices / 2, .tensor = 2}), devices, "mixture");
    for (std::string_view name : {"placed", "branches"})
      for (const auto& [op, split] : ready_strategy(name, graph, regular).splits)
        EXPECT_EQ(split, (Split{.first = split.first}));
  }
}

TEST(Ready, DataHasNearlyEqualPartsOneAfterTheOther) {
  Graph graph = parse_graph(R"(graph linear
input x f32[10,3]
parameter fc.weight f32[2,3] zeros
operator fc linear{out=2} (x) [fc.weight] -> fc
)");
  Signature s = signature(graph, graph.operators[0]);
  for (std::int64_t devices : {1, 2, 3, 4, 7, 10}) {
    Machine on = machine(static_cast<std::size_t>(devices));
    std::vector<Tile> tiles = tiles_of(s, data_parallel(graph, on).splits.at("fc"), {});
    ASSERT_EQ(std::ssize(tiles), devices);
    for (std::int64_t at = 0; at < devices; ++at) {
      EXPECT_EQ(tiles[static_cast<std::size_t>(at)].box[0], part_of(10, at, devices));
      EXPECT_EQ(tiles[static_cast<std::size_t>(at)].device.value, at);
    }
  }
}

TEST(Ready, MixturesCutTheSamplesOfAGroupAgain) {
  // Ten samples in two groups: both halves of a group stay in it, though the parts are unequal.
  Graph graph = parse_graph(R"(graph odd
input x f32[10,3]
operator relu activation{} (x) [] -> relu
)");
  Strategy mixed = mixed_parallel(graph, {.data = 2, .tensor = 2});
  EXPECT_EQ(mixed.splits.at("relu"), (Split{.factors = dense({{"n", 2}, {"n", 2}})}));
  std::vector<Range> parts;
  for (const Tile& tile :
       tiles_of(signature(graph, graph.operators[0]), mixed.splits.at("relu"), {}))
    parts.push_back(tile.box[0]);
  EXPECT_THAT(parts, ElementsAre(Range{0, 3}, Range{3, 5}, Range{5, 8}, Range{8, 10}));
}

TEST(Ready, DataKeepsShardsWhole) {
  Strategy three = data_parallel(model(), machine(3));
  EXPECT_THAT(weights_along(three.splits.at("bn"), "n"), ElementsAre(4, 2, 2));
  EXPECT_EQ(three.splits.at("fc1"), three.splits.at("bn"));
  Strategy six = data_parallel(model(), machine(6));
  EXPECT_THAT(weights_along(six.splits.at("bn"), "n"), ElementsAre(1, 1, 1, 1, 2, 2));
}

TEST(Ready, DataReplicatesWhatHasTooFewSamples) {
  Strategy data = data_parallel(model(), machine(12));
  EXPECT_EQ(axes_of(data, "conv"), "n6 r2");
  EXPECT_THAT(devices_of(data, "conv"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(axes_of(data_parallel(model(), machine(11)), "conv"), "r11");
}

TEST(Ready, TensorPairsColumnsWithRows) {
  EXPECT_THAT(all_axes(tensor_parallel(model(), machine(2))),
              ElementsAre("o2", "c2", "t2", "c2", "o2", "c2", "t2", "i2", "n2"));
}

TEST(Ready, TensorLeavesASumWithAnUncutTensorToTheSamples) {
  Graph graph = parse_graph(R"(graph residual
input x f32[8,4]
parameter fc.weight f32[4,4] zeros
operator stem activation{} (x) [] -> stem
operator fc linear{out=4} (stem) [fc.weight] -> fc
operator add binary{} (fc stem) [] -> add
)");
  Strategy tensor = tensor_parallel(graph, machine(2));
  EXPECT_EQ(axes_of(tensor, "fc"), "o2");
  EXPECT_EQ(axes_of(tensor, "add"), "n2");
}

TEST(Ready, HybridSplitsLinearLayersOnly) {
  EXPECT_THAT(all_axes(hybrid_parallel(model(), machine(2))),
              ElementsAre("n2", "n2", "n2", "n2", "o2", "c2", "t2", "i2", "n2"));
}

TEST(Ready, SpatialCutsRowsThenColumns) {
  EXPECT_THAT(all_axes(spatial_parallel(model(), machine(2))),
              ElementsAre("h2", "h2", "u2", "n2", "n2", "n2", "n2", "n2", "n2"));
  // There are six rows, so columns are cut too.
  EXPECT_EQ(axes_of(spatial_parallel(model(), machine(8)), "conv"), "h4 w2");
}

TEST(Ready, ExpertIsDataBetweenNodesAndTensorInside) {
  Machine cluster = machine(4);
  for (std::size_t at : {1u, 3u}) cluster.devices[at].node = 1;
  Strategy expert = expert_parallel(model(), cluster);
  EXPECT_EQ(axes_of(expert, "fc2"), "i2 n2");
  // Device 0 and 2 are one node: they share the first half of the samples.
  EXPECT_THAT(devices_of(expert, "fc2"), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(axes_of(expert, "fc1.bias"), "c2 n2");
}

TEST(Ready, ExpertOnUnequalNodesWorksInGroupsThatDivideThem) {
  Machine cluster = machine(6);
  for (std::size_t at : {4u, 5u}) cluster.devices[at].node = 1;
  EXPECT_EQ(axes_of(expert_parallel(model(), cluster), "fc2"), "i2 n3");
}

TEST(Ready, MixturesHaveNeighboursInATensorGroup) {
  Strategy mixed = mixed_parallel(model(), {.data = 2, .tensor = 2});
  EXPECT_EQ(axes_of(mixed, "conv"), "n2 o2");
  EXPECT_THAT(devices_of(mixed, "conv"), ElementsAre(0, 1, 2, 3));
  EXPECT_NE(why_infeasible(mixed, model(), machine(3)), std::nullopt);
}

TEST(Ready, PlacementBalancesFlopsInOrder) {
  Strategy placed = placed_in_order(model(), machine(2));
  int before = 0, operators_on_last = 0;
  for (const Operator& op : model().operators) {
    int device = devices_of(placed, op.name).at(0);
    EXPECT_GE(device, before) << op.name;
    before = device;
    operators_on_last += device;
  }
  // The convolution has nearly all the flops, so everything behind it is on the other device.
  EXPECT_EQ(devices_of(placed, "conv").at(0), 0);
  EXPECT_EQ(operators_on_last, 8);
}

TEST(Ready, BranchesGoToDifferentDevices) {
  Graph graph = parse_graph(R"(graph branches
input x f32[8,4]
parameter a.weight f32[4,4] zeros
parameter b.weight f32[4,4] zeros
operator stem activation{} (x) [] -> stem
operator a linear{out=4} (stem) [a.weight] -> a
operator b linear{out=4} (stem) [b.weight] -> b
operator b.relu activation{} (b) [] -> b.relu
operator join binary{} (a b.relu) [] -> join
)");
  Strategy placed = ready_strategy("branches", graph, machine(2));
  EXPECT_NE(devices_of(placed, "a"), devices_of(placed, "b"));
  EXPECT_EQ(devices_of(placed, "b"), devices_of(placed, "b.relu"));
  EXPECT_EQ(devices_of(placed, "a"), devices_of(placed, "join"));
}

TEST(Ready, FixedOrderHasTheSameTilesOnAnyNumberOfDevices) {
  for (std::size_t devices : {1u, 2u, 4u, 8u}) {
    Strategy fixed = fixed_order(model(), machine(devices), 8);
    EXPECT_EQ(why_infeasible(fixed, model(), machine(devices)), std::nullopt);
    EXPECT_EQ(axes_of(fixed, "fc1"), "n8");
    EXPECT_EQ(devices_used(fixed.splits.at("fc1")).size(), devices);
  }
  EXPECT_NE(why_infeasible(fixed_order(model(), machine(3), 8), model(), machine(3)), std::nullopt);
  EXPECT_NE(why_infeasible(fixed_order(model(), machine(2), 6), model(), machine(2)), std::nullopt);
}

TEST(Ready, FixedOrderIsAViewWhereItsTilesAreEqual) {
  Graph graph = model();
  for (std::int64_t devices : {1, 2, 4, 8}) {
    Machine on = machine(static_cast<std::size_t>(devices));
    for (std::int64_t shards : {8, 4, 16}) {
      Strategy fixed = fixed_order(graph, on, shards);
      for (const auto& [op, split] : fixed.splits) {
        EXPECT_EQ(is_view(split), shards <= 8 && shards % devices == 0);
        std::vector<int> placed = devices_of(fixed, op);
        ASSERT_EQ(std::ssize(placed), shards);
        for (std::int64_t tile = 0; tile < shards; ++tile)
          EXPECT_EQ(placed[static_cast<std::size_t>(tile)], tile * devices / shards);
      }
    }
  }
}

TEST(Ready, WeightsOfSamplesThatAreCutTwiceNeedAList) {
  // {n: 2} between the groups, {o: 2, n: 2} inside.
  Graph graph = parse_graph(R"(graph odd
input x f32[16,3]
parameter fc.weight f32[2,3] zeros
operator fc linear{out=2} (x) [fc.weight] -> fc
)");
  Strategy mixed = mixed_parallel(graph, {.data = 2, .tensor = 4});
  EXPECT_EQ(mixed.splits.at("fc"), (Split{.factors = dense({{"n", 2}, {"o", 2}, {"n", 2}})}));
  Machine unequal = machine(8);
  for (std::size_t at : {4u, 5u, 6u, 7u}) unequal.devices[at].flops_per_second *= 3;
  Split weighted = weighted_by_speed(mixed, graph, unequal).splits.at("fc");
  EXPECT_FALSE(is_view(weighted));
  EXPECT_THAT(weights_along(weighted, "n"), ElementsAre(2, 2, 6, 6));
  Signature s = signature(graph, graph.operators[0]);
  EXPECT_EQ(troika::devices_of(s, weighted), troika::devices_of(s, mixed.splits.at("fc")));
  // Neighbours of a group share one factor, which stays a view.
  Graph plain = parse_graph(
      "graph plain\ninput x f32[16,3]\n"
      "operator relu activation{} (x) [] -> relu\n");
  Split merged = weighted_by_speed(mixed_parallel(plain, {.data = 2, .tensor = 4}), plain, unequal)
                     .splits.at("relu");
  EXPECT_TRUE(is_view(merged));
  EXPECT_THAT(weights_along(merged, "n"), ElementsAre(1, 1, 1, 1, 3, 3, 3, 3));
  EXPECT_EQ(largest_device(merged), 7);
}

TEST(Ready, FasterDevicesGetMoreShards) {
  Machine unequal = machine(2);
  unequal.devices[1].flops_per_second *= 3;
  Strategy weighted = weighted_by_speed(data_parallel(model(), unequal), model(), unequal);
  EXPECT_THAT(weights_along(weighted.splits.at("bn"), "n"), ElementsAre(1, 3));
  unequal.devices[1].flops_per_second *= 1000;
  weighted = weighted_by_speed(data_parallel(model(), unequal), model(), unequal);
  EXPECT_THAT(weights_along(weighted.splits.at("bn"), "n"), ElementsAre(1, 3));
  EXPECT_EQ(why_infeasible(weighted, model(), unequal), std::nullopt);
}

TEST(Ready, UnknownNamesGetASuggestion) {
  try {
    ready_strategy("spacial", model(), machine(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "there is no ready plan 'spacial', did you mean 'spatial'?; there are single, data, "
              "tensor, spatial, hybrid, expert, placed, branches, wavefront");
  }
}

TEST(GridSplit, PartsOfTheSamplesNeverCrossAShard) {
  for (std::int64_t shard : {1, 2, 3, 5})
    for (std::int64_t shards = 1; shards <= 6; ++shards)
      for (std::int64_t parts = 1; parts <= shard * shards; ++parts) {
        std::int64_t begin = 0;
        auto lengths = shard_lengths(shard * shards, shard, parts);
        ASSERT_EQ(std::ssize(lengths), parts);
        for (std::int64_t length : lengths) {
          ASSERT_GT(length, 0);
          bool inside = begin / shard == (begin + length - 1) / shard;
          EXPECT_TRUE(inside || (begin % shard == 0 && length % shard == 0));
          begin += length;
        }
        EXPECT_EQ(begin, shard * shards);
      }
}

TEST(RandomStrategy, ViewsUseEveryKindOfChoice) {
  bool shared = false, nested = false, replicas = false, first = false, weights = false;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Strategy strategy = random_view_strategy(model(), machine(8), seed);
    ASSERT_EQ(why_infeasible(strategy, model(), machine(8)), std::nullopt);
    for (const auto& [op, split] : strategy.splits) {
      ASSERT_TRUE(is_view(split));
      first |= split.first > 0 && !split.factors.empty();
      replicas |= replicas_of(split) > 1;
      weights |= has_weights(split);
      for (const Factor& factor : split.factors) {
        shared |= factor.stride == 0;
        nested |= factor.degree != degree_along(split, factor.axis);
      }
    }
  }
  EXPECT_TRUE(shared && nested && replicas && first && weights);
}

TEST(RandomStrategy, UsesEveryKindOfChoice) {
  bool replicas = false, weights = false, uneven = false, micro_batches = false, several = false;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Strategy strategy = random_strategy(model(), machine(4), seed);
    micro_batches |= strategy.micro_batches > 1;
    for (const auto& [op, split] : strategy.splits) {
      replicas |= replicas_of(split) > 1;
      weights |= has_weights(split);
      several |= split.factors.size() > 1;
      uneven |= degree_along(split, "n") == 3;
    }
  }
  EXPECT_TRUE(replicas && weights && uneven && micro_batches && several);
}

}  // namespace
}  // namespace troika
