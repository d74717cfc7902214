// Models with samples that do not fit.
#include <gtest/gtest.h>

#include "base/error.h"
#include "zoo/zoo.h"

namespace troika::zoo {
namespace {

const Field kTokens{"input", {{16}, DType::i32}}, kNext{"target", {{16}, DType::i32}},
    kClass{"target", {{}, DType::i32}}, kWeight{"weight", {{16}, DType::f32}},
    kSource{"source", {{12}, DType::i32}};

/// Returns the error message, or "" if the model can be built.
std::string refusal_of(const std::string& model, const std::vector<Field>& fields) {
  try {
    build({.name = model,
           .options = {{"layers", std::int64_t{1}}},
           .samples = {.batch = 2, .fields = fields, .classes = 9}});
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
}

TEST(Samples, ThatLackAnInputAreRefusedWithWhatWouldFeedIt) {
  EXPECT_EQ(refusal_of("nmt", {kTokens, kNext}),
            "model 'nmt' has an input 'source' that nothing feeds: the data has input, target; "
            "give it pairs of texts: data.train = \"pairs:FILE\"");
  EXPECT_EQ(refusal_of("nmt", {kTokens, kNext, kWeight, kSource}), "");
  EXPECT_NE(refusal_of("bert", {kTokens, kNext}).find("'weight' that nothing feeds"),
            std::string::npos);
  EXPECT_EQ(refusal_of("bert", {kTokens, kNext, kWeight}), "");
}

TEST(Samples, WithOtherTargetsAreRefusedWithWhatWouldDo) {
  EXPECT_EQ(refusal_of("rnntc", {kTokens, kNext}),
            "model 'rnntc' takes one target per text, but the data's 'target' is i32[16]; give it "
            "labelled texts: labelled:FILE");
  EXPECT_EQ(refusal_of("rnntc", {kTokens, kClass}), "");
  EXPECT_NE(refusal_of("gpt2", {kTokens, kClass}).find("text:FILE"), std::string::npos);
  EXPECT_NE(refusal_of("rnnlm", {kTokens, kClass}).find("text:FILE"), std::string::npos);
  EXPECT_NE(refusal_of("gpt2", {kTokens, kNext, kWeight, kSource}).find("'nmt'"),
            std::string::npos);
}

TEST(Samples, SayHowManyWordsTheInputsAreMadeOf) {
  auto embedding = [](const std::string& model, const std::vector<Field>& fields) {
    Graph graph =
        build({.name = model, .samples = {.fields = fields, .classes = 9, .vocabulary = 77}})
            .train();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.spec.shape[0] == 77) return true;
    return false;
  };
  EXPECT_TRUE(embedding("rnntc", {kTokens, kClass}));
  EXPECT_TRUE(embedding("nmt", {kTokens, kNext, kSource}));
}

std::string loss_of(const Model& model) {
  const Graph& graph = model.train();
  return to_text(graph[graph[graph.loss->loss_sum].producer].op);
}

TEST(Samples, WithNumbersToPredictGiveAModelARegressionHead) {
  const Field features{"input", {{4}, DType::f32}}, pixels{"input", {{3, 64, 64}, DType::f32}},
      numbers{"target", {{3}, DType::f32}};
  for (const char* name :
       {"mlp", "lenet", "alexnet", "vgg16", "googlenet", "inception_v3", "resnet18"}) {
    ModelRequest request{.name = name, .samples = {.batch = 2}};
    bool is_mlp = request.name == "mlp";
    if (request.name != "inception_v3") request.samples.fields = {is_mlp ? features : pixels};
    request.samples.fields.push_back(numbers);
    if (!is_mlp) request.options = {{"width", 0.1}};
    Model model = build(request);
    const Graph& graph = model.train();
    ASSERT_EQ(graph.outputs.size(), 2u) << name;
    EXPECT_EQ(graph.outputs[0].name, "prediction");
    EXPECT_EQ(graph[graph.outputs[0].tensor].spec, (TensorSpec{{2, 3}, DType::f32}));
    EXPECT_EQ(graph.outputs[1].name, "absolute_error");
    EXPECT_EQ(graph[graph.outputs[1].tensor].spec, (TensorSpec{{1}, DType::f64}));
    EXPECT_EQ(graph[find_tensor(graph, "weight")].spec.shape, (Shape{2}));
    EXPECT_EQ(loss_of(model), "mean_error{}") << name;
    request.options.push_back({"loss", std::string("absolute")});
    EXPECT_EQ(loss_of(build(request)), "mean_error{penalty=absolute}") << name;
  }
}

TEST(Samples, WithClassesRefuseTheLossOfNumbers) {
  auto refusal = [](const std::string& loss, DType target) {
    try {
      build({.name = "mlp",
             .options = {{"loss", loss}},
             .samples = {.fields = {{"input", {{4}, DType::f32}},
                                    {"target", {{target == DType::i32 ? 1 : 2}, target}}}}});
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(refusal("absolute", DType::i32).find("is for targets that are numbers"),
            std::string::npos);
  EXPECT_NE(refusal("cubed", DType::f32).find("one of squared, absolute"), std::string::npos);
  EXPECT_EQ(refusal("absolute", DType::f32), "");
}

TEST(SeesWholeSequence, HoldsForBertAlone) {
  for (const Entry& entry : entries())
    EXPECT_EQ(sees_whole_sequence(entry.name), entry.name == "bert") << entry.name;
  EXPECT_FALSE(sees_whole_sequence("nothing"));
}

}  // namespace
}  // namespace troika::zoo
