#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using Measure = Metric::Measure;
using Set = Metric::Set;
using testing::ElementsAre;

/// The rate is so small that no evaluation is better than the first by more than rounding. Some
/// samples are held out.
RunConfig idle_run(const Folder& folder, std::vector<std::string> overrides = {}) {
  overrides.insert(
      overrides.begin(),
      {"run.folder=" + folder.path.string(), "data.train=digits:train?size=40",
       "data.validation=20%", "train.global_batch=8", "train.epochs=10", "train.evaluate=2 steps",
       "optimizer.name=sgd", "optimizer.learning_rate=1e-30", "log.every=1 steps"});
  return image_run("lenet", overrides);
}

std::vector<nlohmann::json> rows_with(const RunFolder& run, const std::string& key) {
  std::vector<nlohmann::json> rows;
  std::ifstream file(run.metrics());
  for (std::string line; std::getline(file, line);)
    if (auto row = nlohmann::json::parse(line); row.contains(key)) rows.push_back(row);
  return rows;
}

std::vector<int> steps_of(const std::vector<nlohmann::json>& rows) {
  std::vector<int> steps;
  for (const nlohmann::json& row : rows) steps.push_back(row.at("step"));
  return steps;
}

/// Runs a training to its end, in a folder of this name.
struct FinishedRun {
  FinishedRun(const RunConfig& config, const std::string& name)
      : run(RunFolder::create(config, name)) {
    auto training = make_training(config);
    training->initialize();
    outcome = training->run(&run);
  }

  /// Returns a training that resumes it, possibly with another configuration.
  std::unique_ptr<TrainingRun> resumed(const RunConfig& config) const {
    auto training = make_training(config);
    training->resume(Checkpoint::open(find_checkpoint(run.path())));
    return training;
  }

  RunFolder run;
  TrainOutcome outcome;
};

TEST(EarlyStop, EndsARunThatNoLongerImproves) {
  Folder folder;
  RunConfig config = idle_run(folder, {"train.patience=3"});
  FinishedRun finished(config, "idle");
  const auto& [run, outcome] = finished;
  EXPECT_TRUE(outcome.stopped_early);
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_EQ(outcome.step, 8);  // the best after 2 steps, then three evaluations
  EXPECT_THAT(steps_of(rows_with(run, "validation_loss")), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(find_checkpoint(run.path(), Pick::best).filename(), "step-2");
}

TEST(EarlyStop, CountsOnAcrossAResume) {
  Folder folder;
  RunConfig config = idle_run(folder, {"train.patience=3"});
  config.train.epochs.reset();
  config.train.steps = 5;
  FinishedRun finished(config, "idle");
  config.train.steps = 50;
  auto resumed = finished.resumed(config);
  EXPECT_EQ(resumed->run(&finished.run).step, 6);  // evaluations after steps 2, 4, 5 and 6
  EXPECT_EQ(finished.resumed(config)->run(&finished.run).step, 6)
      << "a run that has stopped early is complete";
}

TEST(Validation, DecidesAndTheTestSetIsSeenOnceAtTheEnd) {
  Folder folder;
  RunConfig config = idle_run(folder, {"train.until=validation_accuracy >= 0"});
  FinishedRun finished(config, "target");
  const auto& [run, outcome] = finished;
  EXPECT_TRUE(outcome.reached_target);
  EXPECT_EQ(outcome.step, 2);
  EXPECT_THAT(steps_of(rows_with(run, "validation_top5")), ElementsAre(2));
  EXPECT_THAT(steps_of(rows_with(run, "test_accuracy")), ElementsAre(2));
  EXPECT_TRUE(outcome.value_of({Set::test, Measure::loss}));
}

/// Returns the input of every sample of a set as bytes.
std::set<std::string> inputs_of(const data::Dataset& set) {
  std::set<std::string> inputs;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    std::vector<std::vector<std::byte>> bytes;
    for (const data::Field& field : set.fields())
      bytes.emplace_back(static_cast<std::size_t>(field.spec.bytes().count));
    std::vector<std::span<std::byte>> fields(bytes.begin(), bytes.end());
    set.read({i, 0}, fields);
    inputs.emplace(reinterpret_cast<const char*>(bytes[0].data()), bytes[0].size());
  }
  return inputs;
}

TEST(Validation, HeldOutSamplesAreNotTrainedOn) {
  Folder folder;
  TrainingSets sets = open_sets(idle_run(folder));
  std::set<std::string> train = inputs_of(*sets.train), held_out = inputs_of(*sets.validation);
  EXPECT_EQ(train.size(), 32u);
  EXPECT_EQ(held_out.size(), 8u);
  for (const std::string& input : held_out) EXPECT_FALSE(train.contains(input));
}

TEST(Validation, AnotherSplitIsRefusedByAResume) {
  Folder folder;
  RunConfig config = idle_run(folder, {"train.until=validation_accuracy >= 0"});
  FinishedRun finished(config, "split");
  config.data.validation = "30%";
  EXPECT_THAT([&] { finished.resumed(config); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("20% of 40 samples held out")));
}

TEST(Validation, AMetricThatTheModelLacksIsRefused) {
  Folder folder;
  EXPECT_THAT([&] { make_training(idle_run(folder, {"checkpoint.best=validation_perplexity"})); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("has no validation_perplexity")));
}

TEST(EarlyStop, StartsAnewWithAnotherMetric) {
  Folder folder;
  RunConfig config = idle_run(folder, {"train.patience=3"});
  FinishedRun finished(config, "metric");
  ASSERT_TRUE(finished.outcome.stopped_early);
  config.checkpoint.best = Metric{Set::validation, Measure::accuracy};
  auto resumed = finished.resumed(config);
  EXPECT_FALSE(resumed->state().best_value);
  EXPECT_GT(resumed->run(&finished.run).step, 8);
}

TEST(Metrics, SecondsGrowAndContinueInAResumedRun) {
  Folder folder;
  RunConfig config = idle_run(folder);
  config.train.epochs.reset();
  config.train.steps = 4;
  FinishedRun finished(config, "timed");
  config.train.steps = 6;
  auto resumed = finished.resumed(config);
  resumed->run(&finished.run);
  double last = 0;
  for (const nlohmann::json& row : rows_with(finished.run, "loss")) {
    EXPECT_GT(row.at("seconds"), last) << row.dump();
    last = row.at("seconds");
  }
}

TEST(Metrics, OfTextsArePerplexityAndTokensPerSecond) {
  Folder folder;
  RunConfig config = language_run(folder, {"run.folder=" + folder.path.string(), "train.steps=2",
                                           "data.validation=20%", "log.every=1 steps"});
  FinishedRun finished(config, "text");
  nlohmann::json last = rows_with(finished.run, "validation_perplexity").back();
  EXPECT_NEAR(last.at("validation_perplexity"), std::exp(last.at("validation_loss").get<double>()),
              1e-9);
  nlohmann::json step = rows_with(finished.run, "loss").back();
  EXPECT_NEAR(step.at("tokens_per_second"), 16 * step.at("samples_per_second").get<double>(), 1e-6);
}

}  // namespace
}  // namespace troika
