#include "train/feeds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

std::vector<float> filled(const zoo::Feed& feed, StepKey key, std::int64_t samples = 3) {
  TensorSpec spec{{samples, 2}, DType::f32};
  std::vector<float> values(static_cast<std::size_t>(spec.shape.elements()));
  fill_feed(feed, spec, key, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(Feeds, AnInputThatNothingFeedsIsNamed) {
  zoo::Samples samples{.batch = 4, .fields = {{"input", {{784}, DType::f32}}}, .classes = 10};
  zoo::Model model = zoo::build({.name = "mlp", .samples = samples});
  auto refusal = [&] {
    try {
      require_fed(model, samples);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(),
            "model 'mlp' has an input 'target' that nothing feeds: the data has input; choose data "
            "that has it");
  samples.fields.push_back({"target", {{}, DType::i32}});
  EXPECT_EQ(refusal(), "");  // the loader makes the weights
  samples.fields[1].spec.shape = {3};
  EXPECT_EQ(refusal(),
            "model 'mlp' takes 'target' as i32[4], but a batch of the data has [4,3]; "
            "choose other data or model options");
  model.graphs.front().feeds = {{.input = "target"}, {.input = "weight"}};
  EXPECT_EQ(refusal(), "");
}

TEST(Feeds, ColumnsAreTheSameInEverySample) {
  zoo::Feed columns{.input = "c", .values = {1, 0}};
  EXPECT_EQ(filled(columns, {1, 1}), (std::vector<float>{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(filled(columns, {2, 5}), filled(columns, {1, 1}));
}

TEST(Feeds, NoiseDependsOnSeedStepAndNameAlone) {
  zoo::Feed noise{.input = "z", .kind = zoo::Feed::Kind::normal},
      other{.input = "y", .kind = zoo::Feed::Kind::normal};
  std::vector<float> first = filled(noise, {1, 1});
  EXPECT_EQ(filled(noise, {1, 1}), first);
  EXPECT_NE(filled(noise, {1, 2}), first);
  EXPECT_NE(filled(noise, {2, 1}), first);
  EXPECT_NE(filled(other, {1, 1}), first);
  // An element is a function of its index, so a larger batch begins like a smaller one.
  std::vector<float> larger = filled(noise, {1, 1}, 5);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), larger.begin()));
}

TEST(Feeds, NoiseIsStandardNormal) {
  double sum = 0, squares = 0;
  std::vector<float> values =
      filled({.input = "z", .kind = zoo::Feed::Kind::normal}, {1, 1}, 10'000);
  for (float value : values) sum += value, squares += static_cast<double>(value) * value;
  auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 4 * std::sqrt(2 / count));
}

}  // namespace
}  // namespace troika
