// Models and samples that do not suit each other.
#include <gtest/gtest.h>

#include "base/error.h"
#include "zoo/zoo.h"

namespace troika::zoo {
namespace {

const Field kTokens{"input", {{16}, DType::i32}}, kNext{"target", {{16}, DType::i32}},
    kClass{"target", {{}, DType::i32}}, kWeight{"weight", {{16}, DType::f32}},
    kSource{"source", {{12}, DType::i32}};

/// The refusal, or "" when the model is made.
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

TEST(SeesWholeSequence, HoldsForBertAlone) {
  for (const Entry& entry : entries())
    EXPECT_EQ(sees_whole_sequence(entry.name), entry.name == "bert") << entry.name;
  EXPECT_FALSE(sees_whole_sequence("nothing"));
}

}  // namespace
}  // namespace troika::zoo
