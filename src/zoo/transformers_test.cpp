#include <gtest/gtest.h>

#include <algorithm>

#include "zoo/zoo.h"

namespace troika::zoo {
namespace {

Samples bert_samples(const Shape& target) {
  return {.fields = {{"input", {{512}, DType::i32}},
                     {"segment", {{512}, DType::i32}},
                     {"mask", {{512}, DType::f32}},
                     {"target", {target, DType::i32}},
                     {"weight", {target, DType::f32}}}};
}

TEST(Bert, ClassifierHasThePublishedBodyAndItsHead) {
  constexpr std::int64_t kBody = 109'482'240, kHead = 768 * 2 + 2;
  EXPECT_EQ(parameter_count(build({.name = "bert", .samples = bert_samples({})}).train()),
            kBody + kHead);
}

TEST(Bert, MaskedHeadIsTiedAndHasNoPooler) {
  EXPECT_EQ(parameter_count(build({.name = "bert", .samples = bert_samples({512})}).train()),
            109'514'298);
}

TEST(Bert, MaskReachesEveryAttention) {
  Model model = build({.name = "bert", .samples = bert_samples({})});
  int attentions = 0;
  for (const Operator& op : model.train().operators) {
    const auto* attention = std::get_if<Attention>(&op.op);
    if (!attention) continue;
    ++attentions;
    EXPECT_TRUE(attention->has_mask) << op.name;
  }
  EXPECT_EQ(attentions, 12);
}

TEST(Gpt2, OutputSharesTheEmbeddingsWeight) {
  Graph graph = build({.name = "gpt2"}).train();
  auto parameters = [&](const char* op) {
    return std::ranges::find(graph.operators, op, &Operator::name)->parameters;
  };
  EXPECT_EQ(parameters("lm_head"), parameters("wte"));
}

TEST(Gpt2, BranchesEndSmallerTheDeeperTheModel) {
  Graph graph = build({.name = "gpt2", .options = {{"layers", std::int64_t{8}}}}).train();
  auto init = [&](const char* name) {
    return std::ranges::find(graph.parameters, name, &Parameter::name)->init.scale;
  };
  EXPECT_DOUBLE_EQ(init("h.3.mlp.fc.weight"), 0.02);
  EXPECT_DOUBLE_EQ(init("h.3.mlp.proj.weight"), 0.02 / 4);
  EXPECT_DOUBLE_EQ(init("h.3.attn.proj.weight"), 0.02 / 4);
}

}  // namespace
}  // namespace troika::zoo
