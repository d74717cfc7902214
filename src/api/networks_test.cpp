// What graphs public modules become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <troika/error.h>

#include "api/build_network.h"

namespace troika::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

zoo::Samples images() {
  return {.batch = 4,
          .fields = {{"input", {{1, 8, 8}, DType::f32}}, {"target", {{}, DType::i32}}},
          .classes = 10};
}

zoo::Samples tokens() {
  return {.batch = 2,
          .fields = {{"input", {{6}, DType::i32}}, {"target", {{6}, DType::i32}}},
          .classes = 30};
}

Graph build(const nn::Module& network, const zoo::Samples& samples = images()) {
  return build_network(network, loss::cross_entropy(), samples).train();
}

std::vector<std::string> parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters) names.push_back(parameter.name);
  return names;
}

const Shape& logits(const Graph& graph) {
  return graph[find_tensor(graph, "head.bias")].spec.shape;
}

TEST(Network, NamesParametersByKindNumberAndGivenName) {
  auto graph = build(nn::sequential(
      nn::conv2d({.out = 4, .pad = 1}), nn::residual(nn::conv2d({.out = 4, .pad = 1})),
      nn::sequential(nn::conv2d({.out = 2}), nn::conv2d({.out = 2, .bias = false})).named("last"),
      nn::flatten(), nn::linear().named("head")));
  EXPECT_THAT(parameter_names(graph),
              ElementsAre("conv1.weight", "conv1.bias", "residual1.conv1.weight",
                          "residual1.conv1.bias", "last.conv1.weight", "last.conv1.bias",
                          "last.conv2.weight", "head.weight", "head.bias"));
}

TEST(Network, UsesAModuleTwiceWithWeightsOfItsOwn) {
  nn::Module layer = nn::linear({.out = 64});
  auto graph = build(nn::sequential(nn::flatten(), layer, layer, nn::linear()));
  EXPECT_EQ(parameter_count(graph), 2 * (64 * 64 + 64) + 64 * 10 + 10);
}

TEST(Network, EndsWithOneLogitPerClassUnlessTold) {
  EXPECT_EQ(logits(build(nn::sequential(nn::flatten(), nn::linear().named("head")))),
            (Shape{4, 10}));
  EXPECT_EQ(logits(build(nn::sequential(nn::flatten(), nn::linear({.out = 12}).named("head")))),
            (Shape{4, 12}));
  EXPECT_THAT([] { build(nn::sequential(nn::flatten(), nn::linear({.out = 9}))); },
              ThrowsMessage<Error>(HasSubstr("9 logits, but the samples have 10 classes")));
}

TEST(Network, TakesASingleLayer) {
  EXPECT_THAT(parameter_names(build_network(nn::conv2d({.out = 1, .kernel = 1}),
                                            loss::mean_squared_error(), images())
                                  .train()),
              ElementsAre("conv1.weight", "conv1.bias"));
}

TEST(Network, ReadsTokensWithTheVocabularyOfTheSamples) {
  auto graph = build(nn::sequential(nn::embedding({.width = 8}), nn::position(),
                                    nn::residual(nn::layer_norm(),
                                                 nn::self_attention({.heads = 2, .causal = true})),
                                    nn::lstm({.hidden = 5}), nn::linear().named("head")),
                     tokens());
  EXPECT_EQ(logits(graph), (Shape{2, 6, 30}));
  EXPECT_EQ(graph.parameters.front().spec.shape, (Shape{30, 8}));
}

TEST(Network, ResidualNeedsAShortcutWhenTheShapeChanges) {
  nn::Module body = nn::conv2d({.out = 3, .stride = 2, .pad = 1});
  EXPECT_THAT([&] { build(nn::sequential(nn::residual(body), nn::flatten(), nn::linear())); },
              ThrowsMessage<Error>(HasSubstr("'residual1' cannot add")));
  nn::Module shortcut = nn::conv2d({.out = 3, .kernel = 1, .stride = 2});
  auto graph = build(nn::sequential(nn::residual({.body = body, .shortcut = shortcut}),
                                    nn::flatten(), nn::linear()));
  EXPECT_THAT(parameter_names(graph), testing::Contains("residual1.shortcut.weight"));
}

TEST(Network, NamesTheLayerThatDoesNotFit) {
  EXPECT_THAT([] { build(nn::sequential(nn::flatten(), nn::conv2d({.out = 3}))); },
              ThrowsMessage<Error>(HasSubstr("conv1")));
}

TEST(Network, PutsTheShardsOfTheRunIntoBatchNorm) {
  zoo::Samples samples = images();
  samples.shards = 2;
  auto graph = build(nn::sequential(nn::batch_norm(), nn::flatten(), nn::linear()), samples);
  EXPECT_EQ(std::get<BatchNorm>(graph.operators.front().op).shards, 2);
}

TEST(Network, RebuildsTheInputUnderMeanSquaredError) {
  auto model =
      build_network(nn::sequential(nn::flatten(), nn::linear({.out = 3}), nn::linear({.out = 64})),
                    loss::mean_squared_error(), images());
  EXPECT_FALSE(find_tensor(model.train(), "target").valid());
  EXPECT_THAT(
      [] {
        build_network(nn::sequential(nn::flatten(), nn::linear({.out = 63})),
                      loss::mean_squared_error(), images());
      },
      ThrowsMessage<Error>(HasSubstr("compares it with")));
  EXPECT_THAT(
      [] { build_network(nn::linear(), loss::mean_squared_error({.target = "target"}), images()); },
      ThrowsMessage<Error>(HasSubstr("use cross_entropy for classes")));
}

TEST(Network, TakesAZooModelWithItsOptionsAndItsOwnLoss) {
  nn::Module mlp = nn::zoo("mlp", {{"hidden", "16"}});
  EXPECT_EQ(parameter_count(build(mlp)), 64 * 16 + 16 + 16 * 16 + 16 + 16 * 10 + 10);
  EXPECT_NO_THROW(build_network(mlp, loss::of_model(), images()));
  EXPECT_THAT([&] { build_network(mlp, loss::mean_squared_error(), images()); },
              ThrowsMessage<Error>(HasSubstr("trained with cross_entropy")));
  EXPECT_THAT([] { build(nn::zoo("resnet19")); }, ThrowsMessage<Error>(HasSubstr("did you mean")));
  EXPECT_THAT([&] { nn::sequential(mlp, nn::relu()); },
              ThrowsMessage<Error>(HasSubstr("whole network")));
}

TEST(Network, RefusesOptionsWithoutMeaning) {
  EXPECT_THROW(nn::conv2d({.kernel = 3}), Error);
  EXPECT_THROW(nn::dropout({.rate = 1}), Error);
  EXPECT_THROW(nn::relu().named("a.b"), Error);
  EXPECT_THROW(nn::sequential(std::vector<nn::Module>{}), Error);
  EXPECT_THROW(build_network(nn::linear(), loss::of_model(), images()), Error);
}

}  // namespace
}  // namespace troika::internal
