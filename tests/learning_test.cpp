// Networks that learn: on drawn digits always, on real data where it is there.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "config/load_run.h"
#include "train/predict.h"
#include "train/trainer.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// A folder of real data: below $TROIKA_DATA, or beside the checkout.
fs::path real_data(const std::string& name) {
  const char* given = std::getenv("TROIKA_DATA");
  return (given != nullptr ? fs::path(given) : fs::path("../shared/data")) / name;
}

struct Curve : Progress {
  std::vector<StepReport> steps;
  void step(const StepReport& report) override { steps.push_back(report); }
};

std::unique_ptr<Trainer> make_trainer(const RunConfig& config, Progress* progress) {
  auto source = [model = config.model](const zoo::Samples& samples) { return build_model(model, samples); };
  auto trainer = std::make_unique<Trainer>(config, source, open_sets(config), TrainHooks{progress, {}});
  trainer->initialize();
  return trainer;
}

TEST(Learning, LenetReadsRealDigits) {
  fs::path folder = real_data("mnist-10k");
  if (!fs::exists(folder)) GTEST_SKIP() << "no mnist-10k at " << folder << "; set TROIKA_DATA to try it";
  RunConfig config = parse_run(R"(
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
  TrainOutcome outcome = make_trainer(config, nullptr)->run(nullptr);
  EXPECT_GE(outcome.evaluation->test_accuracy.value(), 0.96);
}

TEST(Learning, SmallGpt2LearnsShakespeareAndWritesText) {
  fs::path file = real_data("tinyshakespeare") / "input.txt";
  if (!fs::exists(file)) GTEST_SKIP() << "no tinyshakespeare at " << file << "; set TROIKA_DATA to try it";
  RunConfig config = parse_run(R"(
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
  auto trainer = make_trainer(config, &curve);
  trainer->run(nullptr);
  // 65 characters: ln 65 = 4.17 at the start, 3.3 is the frequency of characters alone.
  EXPECT_LT(curve.steps.back().loss, 2.35);
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
  make_trainer(config, &curve)->run(nullptr);
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
