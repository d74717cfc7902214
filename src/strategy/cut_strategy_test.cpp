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

/// A stack of two layers over x [4,8,6].
Graph recurrent_stack(bool bidirectional = false) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{4, kSteps, 6}, DType::f32});
  TensorId y =
      layers::recurrent(b, "rnn", x,
                        {.hidden = 6, .layers = 2, .bidirectional = bidirectional, .dropout = 0.5})
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

TEST(PlacedInOrder, CutsAStackThatIsOnSeveralDevices) {
  Strategy two = placed_in_order(recurrent_stack(), machine_with(2)),
           one = placed_in_order(recurrent_stack(), machine_with(1));
  EXPECT_EQ(two.splits.at("rnn.1").chunks, 8);
  EXPECT_EQ(one.splits.at("rnn.1").chunks, 1);
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
