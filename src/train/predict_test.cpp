#include "train/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "setup/choose_strategy.h"
#include "train/evaluate.h"

namespace troika {
namespace {

constexpr std::size_t kContext = 6, kVocabulary = 5;

RuntimeSetup reference_setup() {
  return set_up_runtime({.backend = KernelsConfig::Backend::reference}, {.threads = 1});
}

zoo::Model tiny_gpt2() {
  return zoo::build(
      {.name = "gpt2",
       .options = {{"layers", std::int64_t{1}},
                   {"heads", std::int64_t{2}},
                   {"width", std::int64_t{8}}},
       .samples = {
           .batch = 1, .fields = {{"input", {{kContext}, DType::i32}}}, .classes = kVocabulary}});
}

/// Weights much larger than initial ones, so that logits differ clearly.
void load_large_weights(LiveModel& live) {
  for (const StateEntry& entry : live.session().state()) {
    RandomStream random{.key = 3, .stream = entry.spec.shape.rank()};
    std::vector<float> values(static_cast<std::size_t>(entry.spec.shape.elements()));
    for (std::size_t at = 0; at < values.size(); ++at)
      values[at] = static_cast<float>(random.normal(at));
    live.session().load(entry.name, std::as_bytes(std::span(values)));
  }
}

class TokenWriterTest : public testing::Test {
 protected:
  TokenWriterTest() : live_(reference_setup()) {
    zoo::Model model = tiny_gpt2();
    add_prediction(live_, model.train());
    live_.start();
    load_large_weights(live_);
  }

  std::vector<std::int32_t> write(const WritingOptions& options, std::size_t count,
                                  std::vector<std::int32_t> prompt = {1, 2, 3}) {
    TokenWriter writer(live_, std::move(prompt), options);
    std::vector<std::int32_t> tokens;
    while (tokens.size() < count) tokens.push_back(writer.next());
    return tokens;
  }

  std::vector<float> logits_behind(const std::vector<std::int32_t>& input, std::size_t position) {
    std::vector<float> logits(kContext * kVocabulary);
    live_.session().write_input(kPredictProgram, "input", std::as_bytes(std::span(input)));
    live_.session().run(kPredictProgram);
    live_.session().read_output(kPredictProgram, "logits",
                                std::as_writable_bytes(std::span(logits)));
    auto first = logits.begin() + static_cast<std::ptrdiff_t>(position * kVocabulary);
    return {first, first + kVocabulary};
  }

  LiveModel live_;
};

TEST_F(TokenWriterTest, TakesTheLogitsOfTheLastTokenWhateverThePaddingIs) {
  std::vector<float> logits = logits_behind({1, 2, 3, 0, 0, 0}, 2);
  EXPECT_EQ(logits, logits_behind({1, 2, 3, 4, 4, 4}, 2));
  auto expected = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  EXPECT_EQ(write({.temperature = 0}, 1).front(), expected);
}

TEST_F(TokenWriterTest, SeesTheLastTokensOnceTheContextIsFull) {
  std::vector<float> logits = logits_behind({2, 3, 4, 0, 1, 2}, kContext - 1);
  auto expected = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  EXPECT_EQ(write({.temperature = 0}, 1, {0, 1, 1, 2, 3, 4, 0, 1, 2}).front(), expected);
}

TEST_F(TokenWriterTest, WritesTheSameAgainAndOtherwiseWithAnotherSeed) {
  std::vector<std::int32_t> text = write({.temperature = 2, .seed = 1}, 40);
  EXPECT_EQ(text, write({.temperature = 2, .seed = 1}, 40));
  EXPECT_NE(text, write({.temperature = 2, .seed = 2}, 40));
  EXPECT_EQ(write({.temperature = 0, .seed = 1}, 40), write({.temperature = 0, .seed = 2}, 40));
  EXPECT_TRUE(
      std::ranges::all_of(text, [](std::int32_t token) { return token >= 0 && token < 5; }));
}

TEST(PredictClasses, AgreesWithTheAccuracyOfAnEvaluation) {
  auto dataset = data::open("digits:test[0:50]");
  zoo::Samples samples{.batch = 16, .classes = 10};
  for (const data::Field& field : dataset->fields())
    samples.fields.push_back({field.name, field.spec});
  zoo::Model model =
      zoo::build({.name = "mlp", .options = {{"hidden", std::int64_t{16}}}, .samples = samples});
  LiveModel live(reference_setup());
  add_prediction(live, model.train());
  live.add_forward(evaluation_program(model.train()));
  live.start();
  live.initialize(1);

  std::vector<Prediction> predictions;
  predict_classes(live, *dataset, 16, [&](const Prediction& next) { predictions.push_back(next); });
  ASSERT_EQ(predictions.size(), 50u);
  EXPECT_EQ(predictions.back().index, 49);
  auto right = std::ranges::count_if(predictions,
                                     [](const Prediction& p) { return p.predicted == p.target; });
  Figures figures = evaluate(live, {model.train(), *dataset, 16, DType::f32}).figures;
  EXPECT_DOUBLE_EQ(find(figures, Metric::Measure::accuracy).value(),
                   static_cast<double>(right) / 50);
  for (const Prediction& prediction : predictions) {
    EXPECT_GE(prediction.probability, 0.1);
    EXPECT_LE(prediction.probability, 1);
  }
}

/// Rows of two features, and targets computed from them.
class SmallTable final : public data::Dataset {
 public:
  std::int64_t size() const override { return 7; }
  const data::Encoding& encoding() const override { return encoding_; }
  void read(data::Sample sample, std::span<const std::span<std::byte>> fields) const override {
    auto at = static_cast<float>(sample.index);
    std::span<float> input = data::elements_of<float>(fields[0]),
                     target = data::elements_of<float>(fields[1]);
    input[0] = at, input[1] = at * at;
    for (std::size_t i = 0; i < 3; ++i) target[i] = at + 10 * static_cast<float>(i);
  }

 private:
  data::Encoding encoding_{.fields = {{"input", {{2}, DType::f32}}, {"target", {{3}, DType::f32}}}};
};

/// A small regression with random weights, split by samples over some devices.
class NumberModel {
 public:
  explicit NumberModel(std::int64_t devices) : live_(set_up_runtime(config_.kernels, on(devices))) {
    zoo::Samples samples{.batch = kBatch};
    for (const data::Field& field : table.fields())
      samples.fields.push_back({field.name, field.spec});
    model_ =
        zoo::build({.name = "mlp", .options = {{"hidden", std::int64_t{8}}}, .samples = samples});
    live_.add_training(
        model_, config_,
        choose_strategy({config_, model_, live_.setup().machine, live_.setup().links}));
    add_prediction(live_, model_.train());
    live_.add_forward(evaluation_program(model_.train()));
    live_.start();
    live_.initialize(1);
  }

  Figures figures() { return evaluate(live_, {model_.train(), table, kBatch, DType::f32}).figures; }
  LiveModel& live() { return live_; }

  static constexpr std::int64_t kBatch = 8;  // one more than there are rows
  SmallTable table;

 private:
  const ParallelConfig& on(std::int64_t devices) {
    config_.parallel.threads = 1;
    config_.parallel.devices = devices;
    config_.parallel.plan.name = devices == 1 ? "single" : "data";
    return config_.parallel;
  }

  RunConfig config_{.kernels = {.backend = KernelsConfig::Backend::reference}};
  zoo::Model model_;
  LiveModel live_;
};

TEST(PredictNumbers, AgreesWithTheErrorsOfAnEvaluation) {
  NumberModel model(1);
  double squares = 0, absolute = 0;
  std::int64_t count = 0;
  predict_numbers(model.live(), model.table, NumberModel::kBatch,
                  [&](const NumberPrediction& found) {
                    EXPECT_EQ(found.index, count++);
                    for (std::size_t i = 0; i < 3; ++i) {
                      EXPECT_EQ(found.target[i],
                                static_cast<double>(found.index) + 10 * static_cast<double>(i));
                      double error = found.predicted[i] - found.target[i];
                      squares += error * error / 3, absolute += std::abs(error) / 3;
                    }
                  });
  EXPECT_EQ(count, 7);
  Figures figures = model.figures();
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_NEAR(find(figures, Metric::Measure::loss).value(), squares / 7, 1e-5 * squares);
  EXPECT_NEAR(find(figures, Metric::Measure::absolute_error).value(), absolute / 7,
              1e-5 * absolute);
}

TEST(PredictNumbers, HaveTheSameErrorsOnTwoDevices) {
  NumberModel one(1), two(2);
  Figures of_one = one.figures(), of_two = two.figures();
  ASSERT_EQ(of_one.size(), of_two.size());
  for (std::size_t i = 0; i < of_one.size(); ++i)
    EXPECT_NEAR(of_two[i].value, of_one[i].value, 1e-6 * of_one[i].value);
}

TEST(AddPrediction, RefusesAModelWithoutLogits) {
  LiveModel live(reference_setup());
  EXPECT_THROW(add_prediction(live, zoo::build({.name = "autoencoder"}).train()), Error);
}

TEST(SoftmaxOf, SharpensWithALowTemperatureAndBearsLargeLogits) {
  std::vector<double> logits{1000, 1001};
  EXPECT_NEAR(softmax_of(logits)[1], 0.7310585786, 1e-9);
  EXPECT_NEAR(softmax_of(logits, 0.1)[1], 0.9999546021, 1e-9);
}

TEST(DrawIndex, TakesEachIndexAsOftenAsItsProbability) {
  std::vector<double> shares{0.25, 0.5, 0.25};
  EXPECT_EQ(draw_index(shares, 0), 0u);
  EXPECT_EQ(draw_index(shares, 0.24), 0u);
  EXPECT_EQ(draw_index(shares, 0.25), 1u);
  EXPECT_EQ(draw_index(shares, 0.76), 2u);
  EXPECT_EQ(draw_index(std::vector<double>{0.4, 0.5999}, 0.99999), 1u);
}

}  // namespace
}  // namespace troika
