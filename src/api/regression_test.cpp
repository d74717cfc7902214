// Networks that predict numbers: units and normalisation, as a user's program sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/save.h"

namespace troika {
namespace {

using testing::ElementsAre;

class PublicRegression : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  ("troika-regression-" + std::to_string(::getpid()));
};

TEST_F(PublicRegression, LearnsNumbersAndPredictsThem) {
  std::vector<float> inputs, numbers;
  for (int at = 0; at < 128; ++at) {
    auto x = static_cast<float>(at % 16) / 16, y = static_cast<float>(at / 16) / 8;
    inputs.insert(inputs.end(), {x, y});
    numbers.insert(numbers.end(), {2 * x - y, 1 + y});
  }
  data::Source samples = data::in_memory({.shape = {2}, .inputs = inputs, .numbers = numbers});
  EXPECT_EQ(samples.classes(), 0);
  for (const loss::Loss& loss : {loss::mean_squared_error(), loss::mean_absolute_error()}) {
    Trainer trainer(nn::linear(), samples, loss, optim::adam({.learning_rate = 0.05}),
                    {.global_batch = 32, .threads = 1});
    trainer.fit(Strategy::single(), {.epochs = 100});
    EXPECT_LT(trainer.evaluate(samples).absolute_error.value(), 0.05);
    data::Source asked = data::in_memory({.shape = {2}, .inputs = {.5F, .25F}, .like = samples});
    std::vector<SamplePrediction> found = trainer.predict(asked);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_THAT(found[0].numbers,
                testing::Pointwise(testing::DoubleNear(0.1), {2 * .5 - .25, 1.25}));
  }
}

/// Prices around 400,000 of 64 houses, which depend on two features.
struct Houses {
  std::vector<float> inputs, prices;

  Houses() {
    for (int at = 0; at < 64; ++at) {
      auto area = static_cast<float>(at % 8) / 8, age = static_cast<float>(at / 8) / 8;
      inputs.insert(inputs.end(), {area, age});
      prices.push_back(400'000 + 80'000 * area - 30'000 * age);
    }
  }
};

TEST_F(PublicRegression, LearnsLargeNumbersAndReportsThemInTheUsersUnits) {
  Houses houses;
  std::ofstream table(path("houses.csv"));
  table << "area,age,price\n";
  for (std::size_t at = 0; at < 64; ++at)
    table << houses.inputs[2 * at] << ',' << houses.inputs[2 * at + 1] << ','
          << static_cast<int>(houses.prices[at]) << '\n';
  table.close();
  data::Source file = data::open("csv:" + path("houses.csv") + "?task=regress");
  data::Source memory =
      data::in_memory({.shape = {2}, .inputs = houses.inputs, .numbers = houses.prices});
  for (const data::Source& samples : {file, memory}) {
    Trainer trainer(nn::linear(), samples, loss::mean_squared_error(),
                    optim::adam({.learning_rate = 0.05}), {.global_batch = 32, .threads = 1});
    EXPECT_GT(trainer.evaluate(samples).absolute_error.value(), 1000);
    trainer.fit(Strategy::single(), {.epochs = 150});
    EXPECT_LT(trainer.evaluate(samples).absolute_error.value(), 2000);
    data::Source asked = data::in_memory({.shape = {2}, .inputs = {.5F, .25F}, .like = samples});
    EXPECT_NEAR(trainer.predict(asked).at(0).numbers.at(0), 432'500, 4000);
  }
}

TEST_F(PublicRegression, ScoresOtherSamplesInTheUsersUnits) {
  Houses houses;
  Trainer trainer(
      nn::linear(),
      data::in_memory({.shape = {2}, .inputs = houses.inputs, .numbers = houses.prices}),
      loss::mean_absolute_error(), optim::adam({.learning_rate = 0.05}),
      {.global_batch = 32, .threads = 1});
  trainer.fit(Strategy::single(), {.epochs = 150});
  // Two houses have a mean and a deviation of their own.
  Score score =
      trainer.evaluate(data::in_memory({.shape = {2},
                                        .inputs = {.5F, .25F, 0, 0},
                                        .numbers = {432'500 + 50'000, 400'000 + 50'000}}));
  EXPECT_NEAR(score.absolute_error.value(), 50'000, 4000);
  EXPECT_NEAR(score.loss, 50'000, 4000);
}

TEST_F(PublicRegression, YesAndNoAreNotNormalised) {
  // The network has no inputs to use, so it learns the share of ones, whose entropy is the loss.
  data::Source samples = data::in_memory(
      {.shape = {1}, .inputs = std::vector<float>(8, 0), .numbers = {1, 0, 0, 0, 1, 0, 0, 0}});
  Trainer trainer(nn::linear(), samples, loss::sigmoid_cross_entropy(),
                  optim::adam({.learning_rate = 0.1}), {.global_batch = 8, .threads = 1});
  trainer.fit(Strategy::single(), {.epochs = 200});
  double entropy = -0.25 * std::log(0.25) - 0.75 * std::log(0.75);
  EXPECT_NEAR(trainer.evaluate(samples).loss, entropy, 1e-3);
}

TEST_F(PublicRegression, TheErrorOfARebuiltInputHasTheUnitsOfTheInput) {
  Houses houses;
  auto rebuilds = [&](const data::Source& samples) {
    return Trainer(nn::linear({.out = 2}), samples, loss::mean_squared_error({.target = "input"}),
                   optim::adam(), {.threads = 1})
        .evaluate(samples);
  };
  Score numbers =
      rebuilds(data::in_memory({.shape = {2}, .inputs = houses.inputs, .numbers = houses.prices}));
  Score classes = rebuilds(data::in_memory(
      {.shape = {2}, .inputs = houses.inputs, .targets = std::vector<std::int32_t>(64, 0)}));
  EXPECT_EQ(numbers.loss, classes.loss);
  EXPECT_EQ(numbers.absolute_error, classes.absolute_error);
}

/// The newest checkpoint of a run on one feature and one normalised target.
constexpr const char* kNormalisedRun = R"({"step": 1, "position": 8, "seed": 1, "model_hash": "",
  "choices_hash": "", "device": "cpu", "samples": {"classes": 0,
  "fields": [{"name": "input", "dtype": "f32", "shape": [1]},
             {"name": "target", "dtype": "f32", "shape": [1]}],
  "target_normalization": {"mean": [1195.5], "deviation": [115.5]}}})";

// The mean and the deviation of the targets belong to the weights.
TEST_F(PublicRegression, KeepsTheUnitOfTheWeightsThatItStartsFrom) {
  save_checkpoint(path("checkpoints"), {.step = 1,
                                        .meta_json = kNormalisedRun,
                                        .tensors = {{"linear1.weight", {{1, 1}, DType::f32}}},
                                        .read = [](std::size_t, std::span<std::byte> bytes) {
                                          std::ranges::fill(bytes, std::byte{0});
                                        }});
  auto trainer_for = [](std::vector<float> numbers) {
    data::Source samples =
        data::in_memory({.shape = {1}, .inputs = {1, 2}, .numbers = std::move(numbers)});
    return Trainer(nn::linear(), samples, loss::mean_squared_error(), optim::sgd(),
                   {.global_batch = 2, .threads = 1});
  };
  data::Source asked = data::in_memory({.shape = {1}, .inputs = {1}, .numbers = {1}});
  Trainer trainer = trainer_for({1, 2});
  EXPECT_THAT(trainer.start_from(path("checkpoints")), ElementsAre("linear1.bias"));
  EXPECT_NEAR(trainer.predict(asked).front().numbers.front(), 1195.5, 1e-3);
  // Also after a fit, which has made weights in the other unit.
  Trainer later = trainer_for({1, 2});
  later.fit(Strategy::single(), {.steps = 1});
  later.start_from(path("checkpoints"));
  EXPECT_NEAR(later.predict(asked).front().numbers.front(), 1195.5, 2 * 115.5);
  // The file alone does not say how targets were normalised: those of the samples count.
  Trainer plain = trainer_for({1, 2});
  plain.start_from(path("checkpoints/step-1/model.safetensors"));
  EXPECT_NEAR(plain.predict(asked).front().numbers.front(), 1.5, 1e-3);
  // Two numbers have an output layer of their own.
  EXPECT_EQ(trainer_for({1, 2, 3, 4}).start_from(path("checkpoints")).size(), 2U);
}

}  // namespace
}  // namespace troika
