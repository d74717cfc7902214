#include "graph/cut_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/layers.h"
#include "graph/layers_recurrent.h"

namespace troika {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSteps = 7;

/// A stack of layers over x [2,7,3] with a linear layer behind it.
Graph stack(const layers::RecurrentOptions& options) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, kSteps, 3}, DType::f32});
  layers::RecurrentOptions own = options;
  own.hidden = 4;
  layers::RecurrentResult result = layers::recurrent(b, "lstm", x, own);
  b.output("y", layers::linear(b, "out", result.y, {.out = 2}));
  b.output("state", result.last.back().h);
  return b.finish();
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Operator& op : graph.operators) names.push_back(op.name);
  return names;
}

const Operator& operator_of(const Graph& graph, const std::string& name) {
  return *std::ranges::find(graph.operators, name, &Operator::name);
}

std::vector<std::string> inputs_of(const Graph& graph, const std::string& op) {
  std::vector<std::string> inputs;
  for (TensorId input : operator_of(graph, op).inputs) inputs.push_back(graph[input].name);
  return inputs;
}

TEST(CutLayers, ALayerBecomesItsInputProjectionItsChunksAndWhatJoinsThem) {
  Graph cut = cut_layers(stack({}), {.chunks = {{"lstm.0", 3}}}).graph;
  EXPECT_THAT(names(cut), ElementsAre("lstm.0/input", "lstm.0/split", "lstm.0/0", "lstm.0/1",
                                      "lstm.0/2", "lstm.0/output", "out", "out.bias"));
  EXPECT_THAT(inputs_of(cut, "lstm.0/0"), ElementsAre("lstm.0/split.y0"));
  EXPECT_THAT(inputs_of(cut, "lstm.0/1"),
              ElementsAre("lstm.0/split.y1", "lstm.0/0.h_last", "lstm.0/0.c_last"));
  EXPECT_THAT(inputs_of(cut, "lstm.0/output"),
              ElementsAre("lstm.0/0.y", "lstm.0/1.y", "lstm.0/2.y"));
  EXPECT_THAT(inputs_of(cut, "out"), ElementsAre("lstm.0.y"));
}

TEST(CutLayers, ParametersInputsAndOutputsStay) {
  Graph whole = stack({.layers = 2, .dropout = 0.5});
  Graph cut = cut_layers(whole, {.chunks = {{"lstm.0", 2}, {"lstm.1", kSteps}}}).graph;
  EXPECT_EQ(cut.parameters, whole.parameters);
  EXPECT_EQ(cut.inputs, whole.inputs);
  ASSERT_EQ(cut.outputs.size(), whole.outputs.size());
  for (std::size_t at = 0; at < cut.outputs.size(); ++at) {
    EXPECT_EQ(cut.outputs[at].name, whole.outputs[at].name);
    EXPECT_EQ(cut[cut.outputs[at].tensor].name, whole[whole.outputs[at].tensor].name);
    EXPECT_EQ(cut[cut.outputs[at].tensor].spec, whole[whole.outputs[at].tensor].spec);
  }
}

TEST(CutLayers, ChunksHaveNearlyEqualLengthsAndShareTheWeights) {
  Graph whole = stack({});
  Graph cut = cut_layers(whole, {.chunks = {{"lstm.0", 3}}}).graph;
  std::vector<std::int64_t> lengths;
  for (const char* name : {"lstm.0/0", "lstm.0/1", "lstm.0/2"}) {
    const Operator& chunk = operator_of(cut, name);
    lengths.push_back(cut[chunk.outputs[0]].spec.shape[1]);
    const std::vector<ParameterId>& all = whole.operators[0].parameters;
    EXPECT_THAT(chunk.parameters, ElementsAre(all[1], all[2]));
  }
  EXPECT_THAT(lengths, ElementsAre(3, 2, 2));
}

TEST(CutLayers, LayersOfOneChainAlternateWithoutWaitingForTheWholeLayerBelow) {
  Graph cut =
      cut_layers(stack({.layers = 2, .dropout = 0.5}), {.chunks = {{"lstm.0", 2}, {"lstm.1", 2}}})
          .graph;
  EXPECT_THAT(names(cut),
              ElementsAre("lstm.0/input", "lstm.0/split", "lstm.0/0", "lstm.1.dropout/0",
                          "lstm.1/input/0", "lstm.1/0", "lstm.0/1", "lstm.1.dropout/1",
                          "lstm.1/input/1", "lstm.1/1", "lstm.1/output", "out", "out.bias"));
  EXPECT_THAT(inputs_of(cut, "lstm.1.dropout/1"), ElementsAre("lstm.0/1.y"));
}

TEST(CutLayers, ADropoutChunkKnowsItsPlaceInTheWhole) {
  Graph whole = stack({.layers = 2, .dropout = 0.5});
  Graph cut = cut_layers(whole, {.chunks = {{"lstm.0", 2}, {"lstm.1", 2}}}).graph;
  auto before = std::get<Dropout>(operator_of(whole, "lstm.1.dropout").op);
  auto chunk = std::get<Dropout>(operator_of(cut, "lstm.1.dropout/1").op);
  EXPECT_EQ(chunk.stream, before.stream);
  EXPECT_THAT(chunk.extents, ElementsAre(2, kSteps, 4));
  EXPECT_THAT(chunk.begin, ElementsAre(0, 4, 0));
}

TEST(CutLayers, ADropoutThatMustStayWholeEndsTheChain) {
  Graph cut = cut_layers(stack({.layers = 2, .dropout = 0.5}),
                         {.chunks = {{"lstm.0", 2}, {"lstm.1", 2}}, .whole = {"lstm.1.dropout"}})
                  .graph;
  EXPECT_THAT(inputs_of(cut, "lstm.1.dropout"), ElementsAre("lstm.0.y"));
  EXPECT_THAT(inputs_of(cut, "lstm.1/input"), ElementsAre("lstm.1.dropout"));
}

TEST(CutLayers, LayersWithOtherChunksAreChainsOfTheirOwn) {
  Graph cut = cut_layers(stack({.layers = 2}), {.chunks = {{"lstm.0", 2}, {"lstm.1", 3}}}).graph;
  EXPECT_THAT(inputs_of(cut, "lstm.1/input"), ElementsAre("lstm.0.y"));
  EXPECT_THAT(inputs_of(cut, "lstm.1/2"),
              ElementsAre("lstm.1/split.y2", "lstm.1/1.h_last", "lstm.1/1.c_last"));
}

TEST(CutLayers, ALayerThatIsAloneHasOneInputProjectionOfAllSteps) {
  Graph cut = cut_layers(stack({.layers = 2, .dropout = 0.5}),
                         {.chunks = {{"lstm.0", 2}, {"lstm.1", 2}}, .alone = {"lstm.1"}})
                  .graph;
  EXPECT_THAT(names(cut),
              ElementsAre("lstm.0/input", "lstm.0/split", "lstm.0/0", "lstm.0/1", "lstm.0/output",
                          "lstm.1.dropout", "lstm.1/input", "lstm.1/split", "lstm.1/0", "lstm.1/1",
                          "lstm.1/output", "out", "out.bias"));
}

TEST(CutLayers, AReverseLayerBeginsWithItsLastChunk) {
  Graph cut =
      cut_layers(stack({.bidirectional = true}), {.chunks = {{"lstm.0", 2}, {"lstm.0.reverse", 2}}})
          .graph;
  EXPECT_THAT(inputs_of(cut, "lstm.0.reverse/1"), ElementsAre("lstm.0.reverse/split.y1"));
  EXPECT_THAT(
      inputs_of(cut, "lstm.0.reverse/0"),
      ElementsAre("lstm.0.reverse/split.y0", "lstm.0.reverse/1.h_last", "lstm.0.reverse/1.c_last"));
  EXPECT_THAT(inputs_of(cut, "lstm.0.reverse/output"),
              ElementsAre("lstm.0.reverse/0.y", "lstm.0.reverse/1.y"));
  EXPECT_EQ(cut[cut.outputs[1].tensor].name, "lstm.0.reverse.h_last");
  EXPECT_EQ(cut[cut.outputs[1].tensor].producer.index(),
            static_cast<std::size_t>(&operator_of(cut, "lstm.0.reverse/0") - cut.operators.data()));
}

/// Two layers of this kind, the second of which reads the first one's output and these states.
struct TwoLayers {
  Recurrent lower{.hidden = 4}, upper{.hidden = 4};
  bool upper_starts_from_lower = false;
};

Graph two_layers(const TwoLayers& asked) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, kSteps, 3}, DType::f32});
  std::vector<TensorId> lower = b.apply("lower", asked.lower, {x});
  std::vector<TensorId> inputs{lower[0]};
  if (asked.upper_starts_from_lower) inputs.insert(inputs.end(), lower.begin() + 1, lower.end());
  b.output("y", b.apply("upper", asked.upper, inputs)[0]);
  return b.finish();
}

const LayerCuts kBothInTwo{.chunks = {{"lower", 2}, {"upper", 2}}};

TEST(CutLayers, ReverseLayersAlternateFromTheLastChunkOn) {
  TwoLayers asked;
  asked.lower.reverse = asked.upper.reverse = true;
  Graph cut = cut_layers(two_layers(asked), kBothInTwo).graph;
  EXPECT_THAT(names(cut),
              ElementsAre("lower/input", "lower/split", "lower/1", "upper/input/1", "upper/1",
                          "lower/0", "upper/input/0", "upper/0", "upper/output"));
}

TEST(CutLayers, LayersOfOtherDirectionsDoNotAlternate) {
  TwoLayers asked;
  asked.lower.reverse = true;
  Graph cut = cut_layers(two_layers(asked), kBothInTwo).graph;
  EXPECT_THAT(inputs_of(cut, "upper/input"), ElementsAre("lower.y"));
}

TEST(CutLayers, ALayerThatStartsFromTheLastStateBelowWaitsForIt) {
  TwoLayers asked{.upper_starts_from_lower = true};
  asked.upper.has_state = true;
  Graph cut = cut_layers(two_layers(asked), kBothInTwo).graph;
  EXPECT_THAT(inputs_of(cut, "upper/input"), ElementsAre("lower.y"));
  EXPECT_THAT(inputs_of(cut, "upper/0"),
              ElementsAre("upper/split.y0", "lower.h_last", "lower.c_last"));
}

TEST(CutLayers, AnOutputOfTheModelIsJoined) {
  Graph whole = two_layers({});
  whole.outputs.push_back({"below", whole.operators[0].outputs[0]});
  Graph cut = cut_layers(whole, kBothInTwo).graph;
  EXPECT_THAT(inputs_of(cut, "lower/output"), ElementsAre("lower/0.y", "lower/1.y"));
  EXPECT_EQ(cut[cut.outputs[1].tensor].name, "lower.y");
}

TEST(CutLayers, ADropoutThatOthersReadTooIsCutAndJoined) {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{2, kSteps, 3}, DType::f32});
  TensorId y = b.apply("lower", Recurrent{.hidden = 4}, {x})[0];
  TensorId d = layers::dropout(b, "dropout", y, 0.5);
  b.output("y", b.apply("upper", Recurrent{.hidden = 4}, {d})[0]);
  b.output("z", b.add("relu", Activation{}, {d}));
  Graph cut = cut_layers(b.finish(), kBothInTwo).graph;
  EXPECT_THAT(inputs_of(cut, "upper/input/1"), ElementsAre("dropout/1"));
  EXPECT_THAT(inputs_of(cut, "dropout/output"), ElementsAre("dropout/0", "dropout/1"));
  EXPECT_THAT(inputs_of(cut, "relu"), ElementsAre("dropout"));
}

TEST(CutLayers, ChunksOfOtherDevicesHaveInputProjectionsOfTheirOwn) {
  Graph cut = cut_layers(stack({}), {.chunks = {{"lstm.0", 2}}, .apart = {"lstm.0"}}).graph;
  EXPECT_THAT(inputs_of(cut, "lstm.0/split"), ElementsAre("x"));
  EXPECT_THAT(inputs_of(cut, "lstm.0/input/1"), ElementsAre("lstm.0/split.y1"));
  EXPECT_THAT(inputs_of(cut, "lstm.0/1"),
              ElementsAre("lstm.0/input/1", "lstm.0/0.h_last", "lstm.0/0.c_last"));
}

TEST(CutLayers, EachOperatorKnowsWhereItComesFrom) {
  using enum OperatorOrigin::Part;
  std::vector<OperatorOrigin> origins = cut_layers(stack({}), {.chunks = {{"lstm.0", 2}}}).origins;
  EXPECT_THAT(origins, ElementsAre(OperatorOrigin{0, projection}, OperatorOrigin{0, split},
                                   OperatorOrigin{0, chunk, 0}, OperatorOrigin{0, chunk, 1},
                                   OperatorOrigin{0, join}, OperatorOrigin{1}, OperatorOrigin{2}));
}

TEST(CutLayers, RefusesOtherOperatorsAndMoreChunksThanSteps) {
  Graph graph = stack({});
  EXPECT_THAT(why_not_cut(graph, {.chunks = {{"out", 2}}}).value_or(""),
              HasSubstr("operator 'out' (linear) cannot be cut into chunks"));
  EXPECT_THAT(why_not_cut(graph, {.chunks = {{"lstm.0", 8}}}).value_or(""),
              HasSubstr("has 7 time steps, so it cannot be cut into 8 chunks; use 1 to 7"));
  EXPECT_EQ(why_not_cut(graph, {.chunks = {{"lstm.0", 7}}}), std::nullopt);
  graph.operators[1].name = "lstm.0/0";
  EXPECT_THAT(why_not_cut(graph, {.chunks = {{"lstm.0", 7}}}).value_or(""),
              HasSubstr("names begin with 'lstm.0/', as that of the operator 'lstm.0/0' does"));
}

}  // namespace
}  // namespace troika
