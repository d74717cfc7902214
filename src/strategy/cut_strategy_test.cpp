#include "strategy/cut_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/layers.h"
#include "graph/layers_recurrent.h"
#include "strategy/ready.h"

namespace troika {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr std::int64_t kSteps = 8;

/// A stack of two layers over x [4,8,hidden].
Graph recurrent_stack(bool bidirectional = false, std::int64_t hidden = 6) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{4, kSteps, hidden}, DType::f32});
  TensorId y = layers::recurrent(
                   b, "rnn", x,
                   {.hidden = hidden, .layers = 2, .bidirectional = bidirectional, .dropout = 0.5})
                   .y;
  b.output("y", layers::linear(b, "out", y, {.out = 2}));
  return b.finish();
}

Machine machine_with(std::size_t devices) { return {std::vector<DeviceSpec>(devices)}; }

std::vector<DeviceId> device_list(std::initializer_list<unsigned> numbers) {
  return {numbers.begin(), numbers.end()};
}

Split split_in_cut(const Strategy& strategy, const std::string& name) {
  Graph graph = recurrent_stack();
  CutGraph cut = cut_layers(graph, layer_cuts(strategy, graph));
  return cut_strategy(strategy, graph, cut).splits.at(name);
}

std::string refusal_of(const Split& split, std::size_t count = 4) {
  return why_infeasible({.splits = {{"rnn.0", split}}}, recurrent_stack(), machine_with(count))
      .value_or("");
}

TEST(CutStrategy, ChunksThatAreTogetherAreSplitAlike) {
  Strategy strategy{.splits = {{"rnn.0", {.factors = {{"n", 2}}, .first = 1, .chunks = 4}}}};
  for (const char* name : {"rnn.0/0", "rnn.0/3", "rnn.0/input", "rnn.0/split", "rnn.0/output"})
    EXPECT_EQ(split_in_cut(strategy, name), (Split{.factors = {{"n", 2}}, .first = 1})) << name;
}

TEST(CutStrategy, AStrideMovesEachChunkOn) {
  Strategy strategy{.splits = {{"rnn.0", {.chunks = 2, .chunk_stride = 3}}}};
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/1"), (Split{.first = 3}));
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/input/1"), (Split{.first = 3}));
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/split"), Split{});
}

TEST(CutStrategy, AListHasTheDevicesOfOneChunkAfterTheOther) {
  Split split{.factors = {{"n", 2}}, .devices = device_list({0, 1, 2, 3}), .chunks = 2};
  Strategy strategy{.splits = {{"rnn.0", split}}};
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/1").devices, device_list({2, 3}));
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/output").devices, device_list({0, 1}));
}

TEST(CutStrategy, UnitsAreTheLastDimensionOfTheInputProjection) {
  Strategy strategy{.splits = {{"rnn.0", {.factors = {{"u", 3}}, .chunks = kSteps}}}};
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/input").factors, (std::vector<Factor>{{"u", 3}}));
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/split").factors, (std::vector<Factor>{{"v", 3}}));
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/output").factors, (std::vector<Factor>{{"u", 3}}));
}

/// All chunks of a step have three units on device 0, on 1 with the next step, and so on.
TEST(CutStrategy, UnitsOfChunksThatRunApartReadXOnce) {
  Split split{.factors = {{.axis = "u", .degree = 3, .stride = 0, .weights = {3, 2, 1}}},
              .chunks = kSteps,
              .chunk_stride = 1};
  Strategy strategy{.splits = {{"rnn.0", split}}};
  EXPECT_EQ(why_infeasible(strategy, recurrent_stack(), machine_with(8)), std::nullopt);
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/split"), Split{});
  split = {.factors = {{"n", 2}, {"u", 2}}, .chunks = kSteps};
  for (unsigned at = 0; at < 4 * kSteps; ++at) split.devices.push_back(DeviceId(at % 5));
  strategy.splits["rnn.0"] = split;
  EXPECT_EQ(why_infeasible(strategy, recurrent_stack(), machine_with(5)), std::nullopt);
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/split"),
            (Split{.factors = {{"n", 2}}, .devices = device_list({0, 2})}));
}

TEST(CutStrategy, TheInputProjectionMayHaveASplitOfItsOwn) {
  Strategy strategy{
      .splits = {{"rnn.0", {.chunks = 2}}, {"rnn.0/input", {.factors = {{"u", 2}}, .first = 1}}}};
  EXPECT_EQ(why_infeasible(strategy, recurrent_stack(), machine_with(3)), std::nullopt);
  EXPECT_EQ(split_in_cut(strategy, "rnn.0/input"), (Split{.factors = {{"u", 2}}, .first = 1}));
  EXPECT_THAT(restricted(strategy, recurrent_stack()).splits.size(), 2);
}

TEST(CutStrategy, PartsOfADropoutAreWhereItIs) {
  Strategy strategy{.splits = {{"rnn.0", {.chunks = 2}},
                               {"rnn.1", {.first = 1, .chunks = 2}},
                               {"rnn.1.dropout", {.factors = {{"n", 2}}, .first = 2}}}};
  EXPECT_EQ(split_in_cut(strategy, "rnn.1.dropout/1"), (Split{.factors = {{"n", 2}}, .first = 2}));
}

TEST(CutStrategy, ADropoutThatIsSplitOverTimeStaysWhole) {
  Strategy strategy{.splits = {{"rnn.0", {.chunks = 2}},
                               {"rnn.1", {.chunks = 2}},
                               {"rnn.1.dropout", {.factors = {{"t", 2}}}}}};
  EXPECT_EQ(why_infeasible(strategy, recurrent_stack(), machine_with(2)), std::nullopt);
  EXPECT_EQ(split_in_cut(strategy, "rnn.1.dropout"), (Split{.factors = {{"t", 2}}}));
}

TEST(CutStrategy, LayersTakeTurnsOnlyIfTheyUseDifferentDevices) {
  Split two{.factors = {{"n", 2}}, .chunks = 2};
  Strategy strategy{.splits = {{"rnn.0", two}, {"rnn.1", two}}};
  EXPECT_EQ(split_in_cut(strategy, "rnn.1/input").factors, two.factors);
  strategy.splits["rnn.1"].first = 1;  // one device is the same, one is not
  EXPECT_EQ(split_in_cut(strategy, "rnn.1/input/1").first, 1);
  // Chunks that run apart can overlap with those of the other layer.
  strategy.splits["rnn.0"] = strategy.splits["rnn.1"] = {.chunks = 2, .chunk_stride = 1};
  EXPECT_EQ(split_in_cut(strategy, "rnn.1/input/1").first, 1);
}

TEST(CutStrategy, AllLayersOfAStackOverTwoGroupsOfDevicesTakeTurns) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{4, kSteps, 6}, DType::f32});
  b.output("y", layers::recurrent(b, "rnn", x, {.hidden = 6, .layers = 4}).y);
  Graph graph = b.finish();
  Strategy strategy;
  for (int layer = 0; layer < 4; ++layer)
    strategy.splits["rnn." + std::to_string(layer)] = {.first = layer / 2, .chunks = 2};
  // If the second layer waited for the whole first one, so would the third, on the other device.
  EXPECT_EQ(layer_cuts(strategy, graph).alone, std::set<std::string>());
  for (auto& [name, split] : strategy.splits) split.first = 0;
  EXPECT_THAT(layer_cuts(strategy, graph).alone, ElementsAre("rnn.1", "rnn.2", "rnn.3"));
}

/// Plans are made from scratch when cuts change, so cuts contain only what matters.
TEST(CutStrategy, CutsContainOnlyDropoutsAndPlacesThatMatter) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{4, kSteps, 6}, DType::f32});
  x = layers::dropout(b, "before", x, 0.5);
  x = layers::recurrent(b, "rnn", x, {.hidden = 6, .layers = 2, .dropout = 0.5}).y;
  b.output("y", layers::dropout(b, "behind", x, 0.5));
  Graph graph = b.finish();
  Split over_time{.factors = {{"t", 2}}}, apart{.chunks = 2, .chunk_stride = 1};
  Strategy strategy{
      .splits = {{"before", over_time}, {"behind", over_time}, {"rnn.0", apart}, {"rnn.1", apart}}};
  EXPECT_EQ(layer_cuts(strategy, graph),
            (LayerCuts{.chunks = {{"rnn.0", 2}, {"rnn.1", 2}}, .apart = {"rnn.0"}}));
  // Each layer begins a chain of its own.
  strategy.splits["rnn.1.dropout"] = over_time;
  EXPECT_EQ(layer_cuts(strategy, graph), (LayerCuts{.chunks = {{"rnn.0", 2}, {"rnn.1", 2}},
                                                    .apart = {"rnn.0", "rnn.1"},
                                                    .whole = {"rnn.1.dropout"}}));
}

TEST(CutStrategy, RefusalsSayWhatWouldFit) {
  EXPECT_EQ(refusal_of({.chunks = 2}), "");
  EXPECT_THAT(refusal_of({.chunks = 9}), HasSubstr("it cannot be cut into 9 chunks; use 1 to 8"));
  EXPECT_THAT(refusal_of({.factors = {{"u", 2}}, .chunks = 2}), HasSubstr("set \"chunks\" to 8"));
  EXPECT_THAT(refusal_of({.factors = {{"u", 2}}}), HasSubstr("set \"chunks\" to 8"));
  EXPECT_THAT(refusal_of({.factors = {{"t", 2}}, .chunks = 2}), HasSubstr("has no axis 't'"));
  EXPECT_THAT(refusal_of({.devices = device_list({0, 1, 2}), .chunks = 2}),
              HasSubstr("2 chunks of 1 tiles with 1 replicas, but lists 3 devices"));
  EXPECT_THAT(refusal_of({.chunk_stride = 2}),
              HasSubstr("operator 'rnn.0' has a chunk stride but no chunks"));
  EXPECT_THAT(refusal_of({.chunks = 4, .chunk_stride = 2}),
              HasSubstr("operator 'rnn.0/2' is placed on device 4"));
}

TEST(CutStrategy, RefusesTheInputProjectionOfALayerThatIsNotCut) {
  Strategy strategy{.splits = {{"rnn.0", {.chunks = 2}}, {"rnn.1/input", {}}}};
  EXPECT_THAT(why_infeasible(strategy, recurrent_stack(), machine_with(1)),
              Optional(HasSubstr("no operator 'rnn.1/input'")));
}

TEST(CutStrategy, PlansWithWrongChunksAreRefusedByName) {
  auto error_of = [](const std::string& split) {
    try {
      parse_strategy(R"({"format": "troika plan 2", "splits": {"rnn.0": )" + split + "}}");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of(R"({"chunks": 0})"), HasSubstr("the chunks of operator 'rnn.0'"));
  EXPECT_THAT(error_of(R"({"chunks": 2, "chunk_stride": -1})"),
              HasSubstr("the chunk stride of operator 'rnn.0'"));
  EXPECT_THAT(error_of(R"({"chunks": 2, "chunk_stride": 1, "devices": [0, 1]})"),
              HasSubstr("has both 'chunk_stride' and 'devices' for operator 'rnn.0'"));
}

TEST(CutStrategy, ChunksAreReadAndWritten) {
  Strategy strategy{.splits = {{"rnn.0", {.factors = {{"n", 2}}, .chunks = 3, .chunk_stride = 2}}}};
  EXPECT_THAT(to_json(strategy), HasSubstr(R"("chunks": 3, "chunk_stride": 2)"));
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy);
  EXPECT_EQ(named_devices(strategy).largest, 5);
}

TEST(Wavefront, HasTheLayersOfAStackOnNeighbouringGroupsInChunks) {
  Strategy strategy = wavefront(recurrent_stack(), machine_with(4));
  EXPECT_EQ(strategy.splits.at("rnn.0"), (Split{.factors = {{"n", 2}}, .chunks = 8}));
  EXPECT_EQ(strategy.splits.at("rnn.1"), (Split{.factors = {{"n", 2}}, .first = 2, .chunks = 8}));
  EXPECT_EQ(strategy.splits.at("rnn.1.dropout"), (Split{.factors = {{"n", 2}}, .first = 2}));
  EXPECT_EQ(why_infeasible(strategy, recurrent_stack(), machine_with(4)), std::nullopt);
}

TEST(Wavefront, LeavesALayerThatIsAlone) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{4, kSteps, 6}, DType::f32});
  b.output("y", layers::recurrent(b, "rnn", x, {.hidden = 6}).y);
  Graph graph = b.finish();
  EXPECT_EQ(wavefront(graph, machine_with(2)), tensor_parallel(graph, machine_with(2)));
}

TEST(Wavefront, HasTheTwoDirectionsOfALayerOnDifferentDevices) {
  Strategy strategy = wavefront(recurrent_stack(true), machine_with(2));
  EXPECT_EQ(strategy.splits.at("rnn.0").first, 0);
  EXPECT_EQ(strategy.splits.at("rnn.0.reverse").first, 1);
  EXPECT_EQ(why_infeasible(strategy, recurrent_stack(true), machine_with(2)), std::nullopt);
}

Machine linked_machine(std::size_t devices, const LinkSpeed& speed) {
  Machine machine = machine_with(devices);
  machine.links = {{0, 1, speed}};
  return machine;
}

TEST(PlacedInOrder, CutsAStackOnSeveralDevicesIfThatIsPredictedToBeFaster) {
  Graph large = recurrent_stack(false, 600), small = recurrent_stack();
  auto chunks = [](const Graph& graph, const Machine& machine, std::int64_t micro_batches = 1) {
    return ready_strategy("placed", {graph, machine, micro_batches}).splits.at("rnn.1").chunks;
  };
  // Memory must be fast for so small a batch: every chunk adds to the gradients of all weights.
  Machine two = linked_machine(2, {});
  for (DeviceSpec& device : two.devices) device.bytes_per_second = 1e12;
  EXPECT_EQ(chunks(large, two), 8);
  EXPECT_EQ(chunks(large, machine_with(1)), 1);
  EXPECT_EQ(chunks(small, two), 1);  // chunks cost more than the layers take
  Machine late = two;
  late.links[0].speed.latency = {1'000'000};
  EXPECT_EQ(chunks(large, late), 1);  // each chunk sends messages of its own
  Machine plain = linked_machine(2, {});
  for (DeviceSpec& device : plain.devices) device.bytes_per_second = 1e9;
  EXPECT_EQ(chunks(large, plain), 1);
}

/// Two layers and a dropout before a linear layer of `out` outputs.
Graph stack_before(std::int64_t out) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, 3, 64}, DType::f32});
  x = layers::recurrent(b, "rnn", x, {.hidden = 64, .layers = 2, .dropout = 0.5}).y;
  x = layers::dropout(b, "dropout", x, 0.5);
  b.output("y", layers::linear(b, "out", x, {.out = out, .bias = false}));
  return b.finish();
}

TEST(TensorParallel, WhatFollowsHiddenUnitsIsCutAlongThem) {
  Machine slow = linked_machine(2, {.bytes_per_second = 1e6});
  Strategy narrow = tensor_parallel(stack_before(8), slow),
           wide = tensor_parallel(stack_before(128), slow);
  for (const char* name : {"rnn.0", "rnn.1"})
    EXPECT_EQ(narrow.splits.at(name), (Split{.factors = {{"u", 2}}, .chunks = 3})) << name;
  Graph graph = stack_before(8);
  for (const char* name : {"rnn.1.dropout", "dropout"}) {
    auto op = std::ranges::find(graph.operators, name, &Operator::name);
    ASSERT_NE(op, graph.operators.end());
    std::string last = signature(graph, *op).axes[2].name;
    EXPECT_EQ(narrow.splits.at(name), (Split{.factors = {{last, 2}}})) << name;
  }
  EXPECT_EQ(narrow.splits.at("out"), (Split{.factors = {{"i", 2}}}));
  // It would add up more than it gathers.
  EXPECT_EQ(wide.splits.at("out"), (Split{.factors = {{"o", 2}}}));
  EXPECT_EQ(why_infeasible(wide, stack_before(128), slow), std::nullopt);
}

TEST(TensorParallel, CountsTheInputAndTheMicroBatchesOfHiddenUnits) {
  auto along_units = [](const Shape& x, std::int64_t hidden, std::int64_t micro_batches) {
    GraphBuilder b("net");
    b.output("y", layers::recurrent(b, "rnn", b.input("x", {x, DType::f32}), {.hidden = hidden}).y);
    Machine slow = linked_machine(2, {.bytes_per_second = 1e6, .latency = {1'000'000}});
    Strategy made = ready_strategy("tensor", {b.finish(), slow, micro_batches});
    return degree_along(made.splits.at("rnn.0"), "u") > 1;
  };
  EXPECT_TRUE(along_units({2, 3, 64}, 64, 1));
  EXPECT_FALSE(along_units({2, 3, 64}, 64, 32));  // each has messages of its own
  EXPECT_TRUE(along_units({2, 3, 4096}, 4, 1));
  EXPECT_FALSE(along_units({4, 8, 4096}, 4, 1));  // x is larger than the weights
}

TEST(Ready, LayersThatCannotBeCutStayWhole) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, 3, 64}, DType::f32});
  x = layers::recurrent(b, "rnn", x, {.hidden = 64, .layers = 2}).y;
  b.output("y", layers::linear(b, "rnn.0/proj", x, {.out = 4}));
  Graph graph = b.finish();
  Machine slow = linked_machine(2, {.bytes_per_second = 1e6});
  for (std::string_view name : ready_names()) {
    Strategy strategy = ready_strategy(name, graph, slow);
    EXPECT_EQ(why_infeasible(strategy, graph, slow), std::nullopt) << name;
    EXPECT_EQ(strategy.splits["rnn.0"].chunks, 1) << name;
  }
  EXPECT_EQ(tensor_parallel(graph, slow).splits.at("rnn.1").chunks, 3);
}

TEST(Ready, LongSequencesAreNotCutIntoMoreChunksThanIdsCount) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, 5000, 512}, DType::f32});
  b.output("y", layers::recurrent(b, "rnn", x, {.hidden = 4096}).y);
  Graph graph = b.finish();
  Machine slow = linked_machine(2, {.bytes_per_second = 1});
  EXPECT_EQ(tensor_parallel(graph, slow).splits.at("rnn.0").chunks, 1);
}

TEST(TensorParallel, SplitsHiddenUnitsWhereSumsOfGradientsAreSlow) {
  // Weights are large against the state, and links are slow against memory.
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, 3, 64}, DType::f32});
  b.output("y", layers::recurrent(b, "rnn", x, {.hidden = 64}).y);
  Graph graph = b.finish();
  Machine slow = machine_with(2);
  slow.links = {{0, 1, {.bytes_per_second = 1e6}}};
  EXPECT_EQ(tensor_parallel(graph, slow).splits.at("rnn.0"),
            (Split{.factors = {{"u", 2}}, .chunks = 3}));
  EXPECT_EQ(tensor_parallel(graph, machine_with(2)).splits.at("rnn.0"),
            (Split{.factors = {{"n", 2}}}));  // nothing is known of its links
  slow.links[0].speed.latency = {1'000'000'000};
  EXPECT_EQ(tensor_parallel(graph, slow).splits.at("rnn.0"), (Split{.factors = {{"n", 2}}}));
}

}  // namespace
}  // namespace troika
