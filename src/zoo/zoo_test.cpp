#include "zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "graph/inference.h"
#include "graph/text.h"
#include "zoo/testing/small_models.h"

namespace troika::zoo {
namespace {

struct PublishedCount {
  const char* model;
  std::int64_t parameters;
};

class PublishedCounts : public testing::TestWithParam<PublishedCount> {};

TEST_P(PublishedCounts, AreMetAtTheUsualSize) {
  EXPECT_EQ(parameter_count(build({.name = GetParam().model}).train()), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, PublishedCounts,
    testing::Values(PublishedCount{"mlp", 5'824'522}, PublishedCount{"lenet", 61'706},
                    PublishedCount{"alexnet", 61'100'840}, PublishedCount{"vgg16", 138'357'544},
                    PublishedCount{"googlenet", 7'005'832},
                    PublishedCount{"inception_v3", 23'834'568},
                    PublishedCount{"resnet18", 11'689'512}, PublishedCount{"resnet50", 25'557'032},
                    PublishedCount{"resnet101", 44'549'160}, PublishedCount{"gpt2", 124'439'808},
                    PublishedCount{"rnnlm", 19'775'200}, PublishedCount{"rnntc", 1'411'842},
                    PublishedCount{"nmt", 59'156'224}, PublishedCount{"autoencoder", 435'536}),
    [](const auto& row) { return std::string(row.param.model); });

struct PublishedWork {
  const char* model;
  double billions;  ///< Multiplications and additions of one image, as pairs, in convolutions and
                    ///< linear layers.
};

class PublishedFlops : public testing::TestWithParam<PublishedWork> {};

TEST_P(PublishedFlops, AreMetByOneForwardPass) {
  Graph graph = build({.name = GetParam().model}).train();
  std::int64_t flops = 0;
  for (const Operator& op : graph.operators) {
    if (std::holds_alternative<Linear>(op.op) || std::holds_alternative<Conv2d>(op.op))
      flops += signature(graph, op).at(Phase::forward).flops.count;
  }
  EXPECT_NEAR(static_cast<double>(flops) / 2e9, GetParam().billions, 0.01);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, PublishedFlops,
    testing::Values(PublishedWork{"alexnet", 0.71}, PublishedWork{"vgg16", 15.47},
                    PublishedWork{"googlenet", 1.58}, PublishedWork{"inception_v3", 5.71},
                    PublishedWork{"resnet18", 1.81}, PublishedWork{"resnet50", 4.09},
                    PublishedWork{"resnet101", 7.80}),
    [](const auto& row) { return std::string(row.param.model); });

class EveryModel : public testing::TestWithParam<Entry> {
 protected:
  Model small(DType dtype = DType::f32) {
    ModelRequest request = small_request(GetParam().name);
    request.samples.dtype = dtype;
    return build(request);
  }
};

TEST_P(EveryModel, HasASmallVersionWhoseTextReadsBack) {
  for (const NamedGraph& named : small().graphs) {
    EXPECT_LT(parameter_count(named.graph), 2'000'000);
    EXPECT_EQ(parse_graph(to_text(named.graph)), named.graph);
  }
}

TEST_P(EveryModel, HasALossAndAGraphForInference) {
  for (const NamedGraph& named : small().graphs) {
    ASSERT_TRUE(named.graph.loss.has_value());
    EXPECT_EQ(inference(named.graph).outputs.size(), named.graph.outputs.size());
  }
}

TEST_P(EveryModel, IsTheSameModelAtEveryBatchAndInEveryFloatingType) {
  ModelRequest request = small_request(GetParam().name);
  std::uint64_t hash = model_hash(build(request).train());
  request.samples.batch *= 2;
  EXPECT_EQ(model_hash(build(request).train()), hash);
  EXPECT_EQ(model_hash(small(DType::f64).train()), hash);
}

TEST_P(EveryModel, IsInOneFloatingType) {
  for (const NamedGraph& named : small(DType::f64).graphs) {
    for (const Tensor& tensor : named.graph.tensors)
      EXPECT_NE(tensor.spec.dtype, DType::f32) << tensor.name;
    for (const Parameter& parameter : named.graph.parameters)
      EXPECT_NE(parameter.spec.dtype, DType::f32) << parameter.name;
  }
}

TEST_P(EveryModel, FeedsOrNamesEveryInput) {
  const std::set<std::string> from_samples{"input", "target", "weight", "source", "length"};
  for (const NamedGraph& named : small().graphs) {
    for (TensorId input : named.graph.inputs) {
      const std::string& name = named.graph[input].name;
      bool fed = std::ranges::find(named.feeds, name, &Feed::input) != named.feeds.end();
      EXPECT_TRUE(fed || from_samples.contains(name)) << name;
    }
  }
}

TEST_P(EveryModel, DescribesItselfAndItsOptions) {
  EXPECT_FALSE(GetParam().description.empty());
  for (const OptionHelp& option : GetParam().options)
    EXPECT_FALSE(option.description.empty()) << option.name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryModel, testing::ValuesIn(entries().begin(), entries().end()),
                         [](const auto& row) { return row.param.name; });

std::string refusal(const ModelRequest& request) {
  try {
    build(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "built";
}

TEST(Build, SuggestsAModelThatIsNear) {
  EXPECT_EQ(refusal({.name = "resnet5"}), "there is no model 'resnet5'; did you mean 'resnet50'?");
}

TEST(Build, SuggestsAnOptionThatIsNear) {
  EXPECT_EQ(refusal({.name = "gpt2", .options = {{"layer", std::int64_t{2}}}}),
            "model 'gpt2' has no option 'layer'; did you mean 'layers'?");
}

TEST(Build, RefusesAnOptionOfTheWrongKind) {
  EXPECT_EQ(refusal({.name = "gpt2", .options = {{"layers", 2.5}}}),
            "option 'layers' of model 'gpt2' takes an integer from 1 to 10000000, not 2.5");
  EXPECT_EQ(
      refusal({.name = "mlp", .options = {{"hidden", "12,,3"}}}),
      "option 'hidden' of model 'mlp' takes integers from 1 to 10000000 such as \"512,256\", not "
      "\"12,,3\"");
}

TEST(Build, RefusesSizesThatOverflow) {
  for (OptionValue value :
       {OptionValue(1e30), OptionValue(-0.5), OptionValue(std::nan("")), OptionValue("x")})
    EXPECT_NE(refusal({.name = "resnet18", .options = {{"width", value}}}), "built");
  for (std::int64_t layers : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 60})
    EXPECT_NE(refusal({.name = "gpt2", .options = {{"layers", layers}}}), "built");
}

TEST(Build, RefusesHeadsThatDoNotDivideTheWidth) {
  EXPECT_EQ(refusal({.name = "gpt2", .options = {{"heads", std::int64_t{7}}}}),
            "model 'gpt2' cannot share a width of 768 between 7 heads; choose a number of heads "
            "that divides the width");
}

TEST(Build, RefusesDataThatDoesNotFit) {
  EXPECT_EQ(refusal({.name = "lenet", .samples = tokens(6, {6})}),
            "model 'lenet' takes numbers such as pixels, but the data's 'input' is i32[6]: tokens; "
            "choose a language model "
            "or other data");
  EXPECT_EQ(
      refusal({.name = "gpt2", .samples = images({3, 8, 8})}),
      "model 'gpt2' takes tokens i32[t], but the data's 'input' is f32[3,8,8]; choose another "
      "model or text:FILE");
  EXPECT_EQ(refusal({.name = "alexnet", .samples = images({3, 32, 32})}),
            "model 'alexnet' takes images of at least 63 x 63 pixels, but the data has [3,32,32]; "
            "choose a smaller model or larger images");
}

TEST(Build, SetsTheShardsOfBatchNorm) {
  Model model = build({.name = "resnet18", .samples = {.batch = 8, .shards = 4}});
  for (const Operator& op : model.train().operators) {
    const auto* norm = std::get_if<BatchNorm>(&op.op);
    EXPECT_TRUE(!norm || norm->shards == 4) << op.name;
  }
  EXPECT_NE(refusal({.name = "resnet18", .samples = {.batch = 6, .shards = 4}}), "built");
}

}  // namespace
}  // namespace troika::zoo
