// Networks learn: always on drawn digits, and on real data if it is available.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "config/load_run.h"
#include "train/predict.h"
#include "train/training_run.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// Finds a folder of real data below $TROIKA_DATA or next to the checkout.
fs::path real_data(const std::string& name) {
  const char* given = std::getenv("TROIKA_DATA");
  return (given != nullptr ? fs::path(given) : fs::path("../shared/data")) / name;
}

struct Curve : Progress {
  std::vector<StepReport> steps;
  void step(const StepReport& report) override { steps.push_back(report); }
};

std::unique_ptr<TrainingRun> make_training(const RunConfig& config, Progress* progress) {
  auto source = [model = config.model](const zoo::Samples& samples) {
    return build_model(model, samples);
  };
  auto training =
      std::make_unique<TrainingRun>(config, source, open_sets(config), TrainHooks{progress, {}});
  training->initialize();
  return training;
}

/// Continues a prompt with the trained weights, in a second model with batch 1.
std::string write_text(TrainingRun& training, const RunConfig& config, const std::string& prompt,
                       int tokens) {
  TrainingSets sets = open_sets(config);
  zoo::Model model = build_model(config.model, samples_of(sets.train->encoding(), config, 1));
  LiveModel writer(set_up_runtime(config.kernels, config.parallel));
  add_prediction(writer, model.train());
  writer.start();
  for (const StateEntry& entry : writer.session().state()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.spec.bytes().count));
    training.live().session().store(entry.name, bytes);
    writer.session().load(entry.name, bytes);
  }
  const data::Vocabulary& vocabulary = *sets.train->vocabulary();
  TokenWriter next(writer, vocabulary.encode(prompt), {.temperature = 0.7});
  std::vector<std::int32_t> written;
  for (int i = 0; i < tokens; ++i) written.push_back(next.next());
  return vocabulary.decode(written);
}

TEST(Learning, LenetReadsRealDigits) {
  fs::path folder = real_data("mnist-10k");
  if (!fs::exists(folder))
    GTEST_SKIP() << "no mnist-10k at " << folder << "; set TROIKA_DATA to try it";
  RunConfig config =
      parse_run(R"(
[model]
name = "lenet"
[data]
train = ""
[train]
global_batch = 64
epochs = 3
[optimizer]
name = "adam"
learning_rate = 0.002
schedule = { kind = "cosine", warmup = "5%" }
)",
                "mnist.toml",
                std::vector<std::string>{"data.train=idx:" + folder.string() + "[0:8000]",
                                         "data.test=idx:" + folder.string() + "[8000:]"})
          .config;
  TrainOutcome outcome = make_training(config, nullptr)->run(nullptr);
  EXPECT_GE(outcome.value_of({Metric::Set::test, Metric::Measure::accuracy}).value(), 0.96);
}

TEST(Learning, SmallGpt2LearnsShakespeareAndWritesText) {
  fs::path file = real_data("tinyshakespeare") / "input.txt";
  if (!fs::exists(file))
    GTEST_SKIP() << "no tinyshakespeare at " << file << "; set TROIKA_DATA to try it";
  RunConfig config =
      parse_run(R"(
[model]
name = "gpt2"
layers = 2
heads = 4
width = 64
[data]
train = ""
sequence = 64
[train]
global_batch = 32
steps = 300
clip_norm = 1.0
[optimizer]
name = "adamw"
learning_rate = 0.003
weight_decay = 0.1
schedule = { kind = "cosine", warmup = "5%" }
[log]
every = "50 steps"
)",
                "shakespeare.toml", std::vector<std::string>{"data.train=text:" + file.string()})
          .config;
  Curve curve;
  auto training = make_training(config, &curve);
  training->run(nullptr);
  // 65 characters: ln 65 = 4.17 at the start, 3.3 is the frequency of characters alone.
  EXPECT_LT(curve.steps.back().loss, 2.4);
  std::string text = write_text(*training, config, "ROMEO:\n", 200);
  EXPECT_EQ(text.size(), 200u);
  // Words of a language have vowels and spaces; noise over 65 characters has 5 in 13.
  auto common = std::ranges::count_if(text, [](char c) {
    return std::string_view("aeiou thsnrl").find(c) != std::string_view::npos;
  });
  EXPECT_GT(common, 100) << text;
}

TEST(Learning, DcganTrainsInTurns) {
  RunConfig config = parse_run(R"(
[model]
name = "dcgan"
width = 8
noise = 16
[data]
train = "digits:train?size=512"
normalize = [0.5, 0.5]
[train]
global_batch = 16
steps = 50
[optimizer]
name = "adam"
learning_rate = 0.0005
beta1 = 0.5
[log]
every = "10 steps"
)",
                               "dcgan.toml")
                         .config;
  Curve curve;
  make_training(config, &curve)->run(nullptr);
  ASSERT_EQ(curve.steps.size(), 5u);
  for (const StepReport& report : curve.steps) {
    EXPECT_TRUE(std::isfinite(report.loss));
    ASSERT_EQ(report.more.size(), 1u);
    EXPECT_EQ(report.more[0].first, "generator");
    EXPECT_TRUE(std::isfinite(report.more[0].second));
  }
  EXPECT_LT(curve.steps.back().loss, curve.steps.front().loss);
}

}  // namespace
}  // namespace troika
