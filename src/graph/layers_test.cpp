#include "graph/layers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/hash.h"
#include "graph/layers_attention.h"
#include "graph/layers_recurrent.h"

namespace troika {
namespace {

TensorId image(GraphBuilder& b, const Shape& shape) { return b.input("x", {shape, DType::f32}); }

std::vector<std::string> parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters) names.push_back(parameter.name);
  return names;
}

TEST(Layers, LinearNamesItsBiasAfterTheLayer) {
  GraphBuilder b("net");
  layers::linear(b, "fc", image(b, {2, 3}), {.out = 4});
  Graph graph = b.finish();
  EXPECT_EQ(parameter_names(graph), (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(graph.operators[1].name, "fc.bias");
}

TEST(Layers, ConvolutionPadsBothEnds) {
  GraphBuilder b("net");
  TensorId y = layers::conv2d(b, "conv", image(b, {2, 3, 9, 7}),
                              {.out = 4, .kernel = {3, 1}, .stride = 2, .pad = {1, 0}});
  EXPECT_EQ(b.shape(y), (Shape{2, 4, 5, 4}));
}

TEST(Layers, CeilPoolingCountsTheWindowOverTheEdge) {
  GraphBuilder b("net");
  TensorId x = image(b, {1, 1, 112, 111});
  TensorId floor = layers::max_pool(b, "floor", x, {.size = 3, .stride = 2});
  EXPECT_EQ(b.shape(floor), (Shape{1, 1, 55, 55}));
  EXPECT_EQ(b.shape(layers::max_pool(b, "ceil", x, {.size = 3, .stride = 2, .ceil = true})),
            (Shape{1, 1, 56, 55}));
}

TEST(Layers, DropoutDrawsByItsNameAndVanishesAtRateZero) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 3});
  EXPECT_EQ(layers::dropout(b, "none", x, 0), x);
  layers::dropout(b, "drop", x, 0.25);
  EXPECT_EQ(std::get<Dropout>(b.finish().operators.at(0).op),
            (Dropout{.rate = 0.25, .stream = hash_text("drop")}));
}

TEST(Layers, AGivenParameterNameIsSharedAndStatesAreNot) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 3, 4, 4});
  for (const char* side : {"real", "fake"}) {
    std::string name = side;
    TensorId y = layers::conv2d(b, name + ".conv", x, {.out = 3, .parameters = "d.conv"});
    layers::batch_norm(b, name + ".norm", y, {.parameters = "d.norm", .states = name + ".norm"});
  }
  Graph graph = b.finish();
  ASSERT_EQ(graph.operators.size(), 6u);
  EXPECT_EQ(graph.operators[0].parameters, graph.operators[3].parameters);
  EXPECT_EQ(parameter_names(graph),
            (std::vector<std::string>{"d.conv.weight", "d.conv.bias", "d.norm.gamma", "d.norm.beta",
                                      "real.norm.running_mean", "real.norm.running_var",
                                      "fake.norm.running_mean", "fake.norm.running_var"}));
}

TEST(Layers, RunningStatisticsAreNeverSharedInSilence) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 3, 4, 4});
  layers::batch_norm(b, "real", x, {.parameters = "norm"});
  layers::batch_norm(b, "fake", x, {.parameters = "norm"});
  EXPECT_THROW(b.finish(), Error);
}

TEST(Layers, WithoutAGivenNameTwoLayersOfOneNameAreRefused) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 3});
  layers::linear(b, "fc", x, {.out = 3});
  layers::linear(b, "fc", x, {.out = 3});
  EXPECT_THROW(b.finish(), Error);
}

TEST(Layers, SelfAttentionKeepsTheShapeAndPacksItsProjections) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 5, 12});
  EXPECT_EQ(b.shape(layers::self_attention(b, "attention", x, {.heads = 3, .causal = true})),
            (Shape{2, 5, 12}));
  Graph graph = b.finish();
  EXPECT_EQ(parameter_count(graph), 12 * 36 + 36 + 12 * 12 + 12);
  EXPECT_EQ(graph.parameters[0].name, "attention.qkv.weight");
}

TEST(Layers, CrossAttentionHasTheQuerysLengthAndAMask) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 5, 12});
  TensorId memory = b.input("memory", {{2, 7, 10}, DType::f32});
  TensorId mask = b.input("mask", {{2, 7}, DType::f32});
  TensorId y = layers::cross_attention(b, "attention", x, memory, {.heads = 3, .mask = mask});
  EXPECT_EQ(b.shape(y), (Shape{2, 5, 12}));
}

TEST(Layers, BidirectionalLayersReadBothDirectionsOfTheLayerBelow) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 5, 3});
  auto [y, last] =
      layers::recurrent(b, "lstm", x, {.hidden = 4, .layers = 2, .bidirectional = true});
  EXPECT_EQ(b.shape(y), (Shape{2, 5, 8}));
  EXPECT_EQ(last.size(), 4u);
  Graph graph = b.finish();
  EXPECT_EQ(graph.parameters[0].name, "lstm.0.w_ih");
  EXPECT_EQ(parameter_count(graph), 2 * (16 * (3 + 4) + 16) + 2 * (16 * (8 + 4) + 16));
}

TEST(Layers, RecurrentLayersStartFromTheGivenStates) {
  GraphBuilder b("net");
  TensorId x = image(b, {2, 5, 3});
  layers::RecurrentOptions options{.kind = RecurrentKind::gru, .hidden = 4, .layers = 2};
  options.start = layers::recurrent(b, "encoder", x, options).last;
  layers::recurrent(b, "decoder", x, options);
  Graph graph = b.finish();
  EXPECT_EQ(graph[graph.operators[3].inputs.at(1)].name, "encoder.1.h_last");
}

}  // namespace
}  // namespace troika
