#include "train/training_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/error.h"
#include "taskgraph/memory_table.h"
#include "train/evaluate.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

TEST(TrainingRun, LossFalls) {
  Folder folder;
  RunConfig config = language_run(folder, {"train.steps=60"});
  auto training = make_training(config);
  training->initialize();
  double end = training->run(nullptr).loss.value();
  EXPECT_LT(end, 2.6);  // ln 32 = 3.5 at the start
}

TEST(TrainingRun, SameSeedSameBitsOtherSeedOtherBits) {
  Folder folder;
  auto run = [&](const char* seed) {
    auto training =
        make_training(language_run(folder, {std::string("train.seed=") + seed, "train.steps=3"}));
    training->initialize();
    training->run(nullptr);
    return state_of(*training);
  };
  EXPECT_EQ(run("5"), run("5"));
  EXPECT_NE(run("5"), run("6"));
}

TEST(TrainingRun, PredictedMemoryIsWhatIsAllocated) {
  Folder folder;
  auto training = make_training(language_run(folder));
  const Session& session = training->live().session();
  MemoryTable memory = memory_of(session.program("train"), DeviceId(0u));
  EXPECT_EQ(memory.messages, Bytes{});
  EXPECT_EQ(memory.persistent, session.state_bytes());
  EXPECT_EQ(memory.arena, session.arena_bytes());
}

TEST(TrainingRun, TheTraceHoldsEveryTaskOnceMeasuredAndOncePredicted) {
  Folder folder;
  RunConfig config = language_run(folder, {"run.folder=" + folder.path.string(), "train.steps=3",
                                           "parallel.plan=data", "parallel.devices=2"});
  RunFolder run = RunFolder::create(config, "traced");
  auto training = make_training(config);
  training->initialize();
  training->run(&run);
  std::map<std::string, std::set<std::string>> ids;  // by timeline
  std::map<int, std::string> timelines;
  std::size_t spans = 0, lagging = 0;
  auto trace = nlohmann::json::parse(std::ifstream(run.path() / "trace.json"));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") timelines[event.at("pid")] = event.at("args").at("name");
    if (event.at("ph") != "X") continue;
    ++spans;
    ids[timelines.at(event.at("pid"))].insert(event.at("args").at("id"));
    lagging += event.at("args").value("lag", 0) == 1 ? 1 : 0;
    EXPECT_TRUE(event.at("pid") != 0 || event.at("dur") > 0) << event.dump();
  }
  std::size_t tasks = training->live().session().program("train").tasks.size();
  EXPECT_EQ(spans, 2 * tasks);
  EXPECT_EQ(ids["measured"].size(), tasks);
  EXPECT_EQ(ids["measured"], ids["predicted"]);
  EXPECT_GT(lagging, 0u);
}

TEST(TrainingRun, MetricsSayWhereTheTimeWent) {
  Folder folder;
  RunConfig config =
      language_run(folder, {"run.folder=" + folder.path.string(), "train.steps=3",
                            "log.every=1 steps", "parallel.plan=data", "parallel.devices=2"});
  RunFolder run = RunFolder::create(config, "shares");
  auto training = make_training(config);
  training->initialize();
  training->run(&run);
  std::ifstream file(run.metrics());
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    auto shares = nlohmann::json::parse(line).at("shares");
    double sum = 0;
    for (const char* part : {"compute", "optimizer", "moving", "waiting", "data", "other"}) {
      EXPECT_GE(shares.at(part), 0) << part;
      sum += shares.at(part).get<double>();
    }
    EXPECT_NEAR(sum, 1, 1e-6) << line;
    EXPECT_GT(shares.at("compute"), 0);
    EXPECT_GT(shares.at("optimizer"), 0);
  }
  EXPECT_EQ(lines, 3);
}

TEST(TrainingRun, InitialValuesOfARegionAreThoseOfTheWhole) {
  Parameter parameter{.name = "w", .spec = {{5, 7}, DType::f32}};
  parameter.init = {Init::Kind::normal, 0.5};
  std::vector<std::byte> whole = initial_values(parameter, 3);
  Region region{{{1, 4}, {2, 6}}};
  std::vector<std::byte> part = initial_values(parameter, region, 3);
  std::size_t done = 0;
  for_each_run(parameter.spec.shape, region, [&](std::int64_t offset, std::int64_t length) {
    auto begin = whole.begin() + offset * 4;
    EXPECT_TRUE(
        std::equal(begin, begin + length * 4, part.begin() + static_cast<std::ptrdiff_t>(done)));
    done += static_cast<std::size_t>(length) * 4;
  });
  EXPECT_EQ(done, part.size());
}

TEST(TrainingRun, MicroBatchesGiveTheSameAnswer) {
  Folder folder;
  auto run = [&](int parts) {
    Strategy strategy{.micro_batches = parts};
    fs::path plan = folder.path / ("plan-" + std::to_string(parts) + ".json");
    std::ofstream(plan) << to_json(strategy);
    auto training =
        make_training(language_run(folder, {"kernels.backend=reference", "kernels.dtype=f64",
                                            "train.steps=3", "parallel.plan=" + plan.string()}));
    training->initialize();
    training->run(nullptr);
    return state_of(*training);
  };
  auto whole = run(1), cut = run(4);
  for (const auto& [name, bytes] : whole) {
    std::span<const double> a{reinterpret_cast<const double*>(bytes.data()),
                              bytes.size() / sizeof(double)};
    std::span<const double> b{reinterpret_cast<const double*>(cut.at(name).data()), a.size()};
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-9) << name;
  }
}

TEST(TrainingRun, RefusesAPlanThatWasMadeForAnotherModel) {
  Folder folder;
  auto wide = make_training(language_run(folder, {"model.width=32"}));
  std::string plan = (folder.path / "plan.json").string();
  std::ofstream(plan) << to_json(wide->strategy(), wide->model().train());
  // The batch size and frozen parameters do not change the model's hash.
  EXPECT_NO_THROW(make_training(language_run(
      folder, {"model.width=32", "parallel.plan=" + plan, "train.global_batch=4",
               "train.freeze=[\"wte.*\"]", "kernels.backend=reference", "kernels.dtype=f64"})));
  try {
    make_training(language_run(folder, {"parallel.plan=" + plan}));
    FAIL() << "the plan was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_EQ(std::string(error.what()).find("the plan was made for the model 'gpt2' with hash"),
              0u)
        << error.what();
  }
}

TEST(TrainingRun, TakesAPlanForAnotherBatchIfItFits) {
  Folder folder;
  std::string plan = (folder.path / "plan.json").string();
  auto with_batch = [&](int batch) {
    return make_training(language_run(folder, {"parallel.plan=" + plan, "kernels.backend=reference",
                                               fmt::format("train.global_batch={}", batch)}));
  };
  std::ofstream(plan) << to_json(Strategy{.micro_batches = 4, .made_for_batch = 16});
  EXPECT_NO_THROW(with_batch(8));
  try {
    with_batch(6);
    FAIL() << "the plan was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::StartsWith("the strategy cannot run: operator '"),
                               testing::EndsWith("sees a batch of 6, which 4 micro-batches do not "
                                                 "divide; the plan was made for a global batch of "
                                                 "16, and this run has 6")));
  }
}

TEST(TrainingRun, StopsAtALossWithoutATestSet) {
  Folder folder;
  auto training = make_training(
      language_run(folder, {"train.until=loss <= 3.0", "train.steps=200", "log.every=5 steps"}));
  training->initialize();
  TrainOutcome outcome = training->run(nullptr);
  EXPECT_TRUE(outcome.reached_target);
  EXPECT_LT(outcome.step, 200);
  EXPECT_LE(outcome.loss.value(), 3.0);
}

/// A run that learns to read a few digits and is tested on others.
RunConfig tested_run(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"train.epochs=2", "log.every=50 steps"});
  return image_run("lenet", overrides);
}

TEST(TrainingRun, ARunThatEndsBetweenTwoReportsStillTellsItsLoss) {
  Folder folder;
  RunConfig config = tested_run({"run.folder=" + folder.path.string(),
                                 "train.until=test_accuracy >= 0", "train.evaluate=3 steps"});
  RunFolder run = RunFolder::create(config, "until");
  auto training = make_training(config);
  training->initialize();
  TrainOutcome outcome = training->run(&run);
  ASSERT_TRUE(outcome.reached_target);
  EXPECT_EQ(outcome.step, 3);
  EXPECT_NEAR(outcome.loss.value(), std::log(10), 0.5);  // untrained: any of the digits
  std::ifstream file(run.metrics());
  int losses = 0;
  for (std::string line; std::getline(file, line);)
    losses += nlohmann::json::parse(line).value("loss", 0.0) == outcome.loss;
  EXPECT_EQ(losses, 1);
}

TEST(TrainingRun, ARunWithoutAStepHasNoLoss) {
  Folder folder;
  RunConfig config = tested_run({"run.folder=" + folder.path.string()});
  RunFolder run = RunFolder::create(config, "done");
  auto training = make_training(config);
  training->initialize();
  EXPECT_TRUE(training->run(&run).loss);
  auto again = make_training(config);
  again->resume(Checkpoint::open(find_checkpoint(run.path())));
  EXPECT_EQ(again->run(&run).loss, std::nullopt);
}

TEST(TrainingRun, NeverEvaluatesWhereToldSo) {
  auto training = make_training(tested_run({"train.evaluate=never"}));
  training->initialize();
  EXPECT_TRUE(training->run(nullptr).evaluations.empty());
  EXPECT_EQ(training->live().programs().size(), 1u);
}

/// Records the reports of a run; each save takes long.
struct SlowDisk final : Progress {
  std::vector<StepReport> reports, glances;
  int saves = 0;

  void step(const StepReport& report) override { reports.push_back(report); }
  void moved(const StepReport& report) override { glances.push_back(report); }
  void saved(const std::string&) override {
    ++saves;
    std::this_thread::sleep_for(std::chrono::milliseconds(kSaveMs));
  }
  static constexpr int kSaveMs = 1000;
};

TEST(TrainingRun, TheRateCountsStepsAndNotSaves) {
  Folder folder;
  RunConfig config = language_run(folder, {"run.folder=" + folder.path.string(), "train.steps=4",
                                           "checkpoint.every=2 steps", "log.every=1 steps"});
  SlowDisk disk;
  RunFolder run = RunFolder::create(config, "slow");
  auto training = make_training(config, {.progress = &disk});
  training->initialize();
  training->run(&run);
  ASSERT_EQ(disk.saves, 2);
  ASSERT_EQ(disk.reports.size(), 4u);
  EXPECT_LT(disk.reports[2].step_ms, 0.8 * SlowDisk::kSaveMs);
  EXPECT_GT(disk.reports[2].samples_per_second, 8 / 0.8);
}

TEST(TrainingRun, TellsOfEveryStepBetweenReports) {
  Folder folder;
  SlowDisk listener;
  auto training = make_training(language_run(folder, {"train.steps=7", "log.every=3 steps"}),
                                {.progress = &listener});
  training->initialize();
  training->run(nullptr);
  auto steps = [](const std::vector<StepReport>& reports) {
    std::vector<std::int64_t> all;
    for (const StepReport& report : reports) all.push_back(report.step);
    return all;
  };
  EXPECT_EQ(steps(listener.reports), (std::vector<std::int64_t>{3, 6, 7}));
  EXPECT_EQ(steps(listener.glances), (std::vector<std::int64_t>{1, 2, 4, 5}));
}

TEST(TrainingRun, MarksTheBestByLossWithoutATestSet) {
  Folder folder;
  RunConfig config =
      language_run(folder, {"run.folder=" + folder.path.string(), "checkpoint.every=5 steps",
                            "checkpoint.best=loss", "log.every=50 steps"});
  RunFolder run = RunFolder::create(config, "best");
  auto training = make_training(config);
  training->initialize();
  training->run(&run);
  EXPECT_TRUE(training->state().best_value);
  EXPECT_TRUE(fs::exists(run.checkpoints() / "best"));
  auto resumed = make_training(config);
  resumed->resume(Checkpoint::open(find_checkpoint(run.path())));
  EXPECT_EQ(resumed->state().best_value, training->state().best_value);
}

TEST(TrainingRun, RefusesATestSetOfAnotherKindBeforeItStarts) {
  Folder folder;
  EXPECT_THROW(make_training(language_run(folder, {"data.test=digits:test"})), Error);
  RunConfig gan = small_run({"data.test=digits:test"});
  gan.model = {.name = "dcgan", .options = {}};
  EXPECT_THROW(make_training(gan), Error);
}

TEST(TrainingRun, FreezesWhatMatchesAndMovesTheRest) {
  Folder folder;
  auto training =
      make_training(language_run(folder, {"train.freeze=[\"*.weight\"]", "train.steps=2"}));
  training->initialize();
  auto before = state_of(*training);
  training->run(nullptr);
  auto after = state_of(*training);
  int moved = 0;
  for (const auto& [name, bytes] : before) {
    if (name.ends_with(".weight"))
      EXPECT_EQ(bytes, after.at(name)) << name;
    else
      moved += bytes != after.at(name);
  }
  EXPECT_GT(moved, 0);
  EXPECT_THROW(make_training(language_run(folder, {"train.freeze=[\"no.such.*\"]"})), Error);
}

TEST(TrainingRun, StartsFromTheWeightsOfAnotherRun) {
  Folder folder;
  RunConfig config = language_run(folder, {"run.folder=" + folder.path.string(), "train.steps=2"});
  RunFolder run = RunFolder::create(config, "teacher");
  auto teacher = make_training(config);
  teacher->initialize();
  teacher->run(&run);
  auto student = make_training(config);
  EXPECT_TRUE(student->start_from(run.path()).empty());
  auto taught = state_of(*teacher), start = state_of(*student);
  for (const Parameter& parameter : student->model().train().parameters)
    EXPECT_EQ(start.at(parameter.name), taught.at(parameter.name)) << parameter.name;
  EXPECT_EQ(student->state().step, 0);
  // The optimizer state starts from zero.
  int states = 0;
  for (const StateEntry& entry : student->live().session().state()) {
    if (entry.category != Category::optimizer) continue;
    ++states;
    EXPECT_TRUE(std::ranges::all_of(start.at(entry.name), [](std::byte b) { return !int(b); }))
        << entry.name;
  }
  EXPECT_GT(states, 0);
}

TEST(TrainingRun, WarnsIfAResumedRunWouldShuffleInAnotherWay) {
  Folder folder;
  auto config = [&](const char* window) {
    return language_run(folder, {"data.train=" + folder.text(rhyme()) + window, "train.steps=2",
                                 "run.folder=" + folder.path.string()});
  };
  RunFolder run = RunFolder::create(config("?window=32"), "windows");
  auto training = make_training(config("?window=32"));
  training->initialize();
  training->run(&run);
  struct Warned : Progress {
    void warn(const std::string& text) override { warnings += text; }
    std::string warnings;
  };
  auto warnings_with = [&](const char* window) {
    Warned heard;
    auto resumed = make_training(config(window), {.progress = &heard});
    resumed->resume(Checkpoint::open(find_checkpoint(run.path())));
    return heard.warnings;
  };
  EXPECT_EQ(warnings_with("?window=32"), "");
  EXPECT_THAT(warnings_with("?window=16"),
              testing::HasSubstr("shuffled within windows of 32, but now they are shuffled within "
                                 "windows of 16"));
  EXPECT_THAT(warnings_with(""), testing::HasSubstr("shuffled over the whole set"));
}

TEST(TrainingRun, AnEvaluationIsTheMeanOverItsTokensAtAnyBatch) {
  Folder folder;
  auto evaluation_at = [&](const char* batch) {
    RunConfig config = language_run(folder, {std::string("train.global_batch=") + batch});
    auto training = make_training(config, {.evaluates = true});
    training->initialize();
    return evaluate(training->live(), {training->model().train(), *open_sets(config).train,
                                       config.train.global_batch, config.kernels.dtype});
  };
  Evaluation one = evaluation_at("1"), eight = evaluation_at("8");
  ASSERT_NE(one.samples % 8, 0);  // so that the last batch is padded
  EXPECT_EQ(one.samples, eight.samples);
  double loss = find(one.figures, Metric::Measure::loss).value();
  EXPECT_NEAR(loss, find(eight.figures, Metric::Measure::loss).value(), 1e-5);
  EXPECT_NEAR(loss, std::log(38), 0.2);  // untrained: any of the characters
}

TEST(TrainingRun, TellsOfTheModelsOwnParametersBeforeTheFirstStep) {
  Folder folder;
  auto training = make_training(language_run(folder));
  std::vector<Fact> facts = training->facts();
  auto parameters = std::ranges::find(facts, "parameters", &Fact::name);
  ASSERT_NE(parameters, facts.end());
  std::string digits = parameters->value;
  std::erase(digits, ',');
  EXPECT_EQ(digits, std::to_string(parameter_count(training->model().train())));
}

TEST(TrainingRun, RaisesTheBatchAsScheduled) {
  Folder folder;
  auto training = make_training(language_run(
      folder, {"train.steps=12", "train.global_batch=8",
               "train.batch_schedule={ factor = 2, every = \"0.2 epochs\", limit = 16 }"}));
  training->initialize();
  std::int64_t samples = 0;
  TrainOutcome outcome = training->run(nullptr);
  samples = training->state().position;
  EXPECT_EQ(outcome.step, 12);
  EXPECT_GT(samples, 12 * 8);
  EXPECT_LE(samples, 12 * 16);
}

}  // namespace
}  // namespace troika
