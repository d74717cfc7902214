#include "profile/smaller_keys.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

KernelKey smallest(const KernelKey& key) { return smaller_keys(key).back(); }

TEST(SmallerKeys, StartWithTheKeyItself) {
  KernelKey key{Linear{.out = 1000}, {{{512, 2048}, DType::f32}}, Phase::backward_weight, {}};
  std::vector<KernelKey> keys = smaller_keys(key);
  EXPECT_EQ(keys.front(), key);
  EXPECT_GT(keys.size(), 1u);
}

TEST(SmallerKeys, KeepTheRemaindersOfVectorsAndStrides) {
  Conv2d op{.out = 256, .kernel = {1, 1}, .stride = {2, 3}};
  KernelKey key = smallest({op, {{{33, 131, 224, 225}, DType::f32}}, Phase::backward_weight, {}});
  const Shape& image = key.inputs[0].shape;
  EXPECT_EQ(image[0], 3);
  EXPECT_EQ(image[1] % 16, 131 % 16);
  EXPECT_EQ(image[2] % 2, 0);
  EXPECT_EQ(image[3] % 3, 0);
  EXPECT_EQ(std::get<Conv2d>(key.op).out % 16, 0);
  EXPECT_LT(flops_of(key).count, 10'000'000);
}

TEST(SmallerKeys, KeysOfOneKindEndInTheSame) {
  auto conv = [](std::int64_t samples, std::int64_t side) {
    Conv2d op{.out = 64, .kernel = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}};
    return smallest({op, {{{samples, 64, side, side}, DType::f32}}, Phase::forward, {}});
  };
  EXPECT_EQ(conv(32, 224), conv(16, 112));
}

TEST(SmallerKeys, GroupsKeepTheirChannels) {
  Conv2d op{.out = 256, .kernel = {3, 3}, .groups = 32};
  KernelKey grouped = smallest({op, {{{8, 256, 56, 56}, DType::f32}}, Phase::forward, {}});
  const auto& conv = std::get<Conv2d>(grouped.op);
  EXPECT_EQ(grouped.inputs[0].shape[1] / conv.groups, 8);
  op.groups = 256;
  KernelKey depthwise = smallest({op, {{{8, 256, 56, 56}, DType::f32}}, Phase::forward, {}});
  EXPECT_EQ(depthwise.inputs[0].shape[1], std::get<Conv2d>(depthwise.op).groups);
  EXPECT_LT(depthwise.inputs[0].shape[1], 256);
}

TEST(SmallerKeys, WhatIsFusedBehindShrinksAlike) {
  TensorSpec image{{32, 256, 56, 56}, DType::f32};
  KernelKey key =
      smallest({BatchNorm{}, {image}, Phase::forward, {{Binary{}, {image}}, {Activation{}, {}}}});
  EXPECT_EQ(key.inputs[0], key.fused[0].others[0]);
  EXPECT_LT(key.inputs[0].shape.elements(), 200'000);
}

TEST(SmallerKeys, BatchNormCountsTheElementsThatAreThere) {
  TensorSpec image{{8, 64, 32, 32}, DType::f32};
  KernelKey key = smallest({BatchNorm{.count = 8 * 32 * 32}, {image}, Phase::forward, {}});
  const Shape& shape = key.inputs[0].shape;
  EXPECT_LT(shape.elements(), image.shape.elements());
  EXPECT_EQ(std::get<BatchNorm>(key.op).count, shape[0] * shape[2] * shape[3]);
}

TEST(SmallerKeys, SomeUnitsOfARecurrentStepStayAPartOfAll) {
  Recurrent op{.hidden = 1024,
               .has_state = true,
               .has_lengths = true,
               .projected = true,
               .sequence = 512,
               .units = 256};
  std::vector<TensorSpec> inputs{{{64, 1, 4, 256}, DType::f32},
                                 {{64, 1024}, DType::f32},
                                 {{64, 256}, DType::f32},
                                 {{64}, DType::i32}};
  KernelKey key = smallest({op, inputs, Phase::backward, {}});
  const auto& step = std::get<Recurrent>(key.op);
  EXPECT_LE(step.hidden, 64);
  EXPECT_GT(step.units, 0);
  EXPECT_LE(step.sequence, 64);
  KernelKey gates =
      smallest({GateProjection{.hidden = 1024}, {{{64, 32, 512}, DType::f32}}, Phase::forward, {}});
  EXPECT_LE(std::get<GateProjection>(gates.op).hidden, 64);
}

TEST(SmallerKeys, ExtentsThatTheOperatorNeedsStay) {
  Attention op{.heads = 12, .causal = true, .packed = true};
  KernelKey key = smallest({op, {{{8, 1024, 2304}, DType::f32}}, Phase::forward, {}});
  EXPECT_EQ(key.inputs[0].shape[2], 2304);
  EXPECT_LT(key.inputs[0].shape[1], 128);
}

}  // namespace
}  // namespace troika
