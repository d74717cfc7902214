// Checkpoints do not depend on plans: a run saved under one plan resumes under any other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/hash.h"
#include "config/plan_settings.h"
#include "train/run_record.h"
#include "train/spread_runs_test.h"

namespace troika {
namespace {

constexpr double kTolerance = 1e-9;

std::string name_of(const Spread& first, const Spread& second) {
  return first.name + "-" + second.name;
}

/// Trains three steps under one plan and three under another; returns the folder of both.
RunFolder change_plans(const Folder& folder, const Spread& first, const Spread& second) {
  RunConfig early = spread_run(first, folder.path, {"log.every=1 steps"});
  RunFolder run = RunFolder::create(early, name_of(first, second));
  TrainHooks hooks = hooks_for(first, early);
  hooks.stop_requested = stop_after(3).stop_requested;
  auto before = make_training(early, hooks);
  before->initialize();
  EXPECT_TRUE(before->run(&run).interrupted);
  RunConfig late = spread_run(second, folder.path, {"log.every=1 steps"});
  auto after = make_training(late, hooks_for(second, late));
  after->resume(Checkpoint::open(find_checkpoint(run.path())));
  EXPECT_EQ(after->run(&run).step, 6);
  return run;
}

TEST(AnyPlan, TheLossCurveGoesOnUnderEveryOther) {
  Folder folder;
  std::vector<Spread> all = spreads();
  RunFolder truth = change_plans(folder, all[0], all[0]);
  std::vector<double> expected = losses_of(truth);
  ASSERT_EQ(expected.size(), 6u);
  Checkpoint last = Checkpoint::open(find_checkpoint(truth.path()));
  for (const Spread& first : all) {
    for (const Spread& second : all) {
      if (first.name == second.name && first.name == "single") continue;
      SCOPED_TRACE(name_of(first, second));
      RunFolder run = change_plans(folder, first, second);
      std::vector<double> losses = losses_of(run);
      ASSERT_EQ(losses.size(), expected.size());
      for (std::size_t step = 0; step < losses.size(); ++step)
        EXPECT_NEAR(losses[step], expected[step], kTolerance * expected[step]) << step;
      EXPECT_LE(distance_of(Checkpoint::open(find_checkpoint(run.path())), last), kTolerance);
    }
  }
}

/// Records notes and warnings.
class Heard : public Progress {
 public:
  void note(const std::string& text) override { notes += text + "\n"; }
  void warn(const std::string& text) override { warnings += text + "\n"; }
  std::string notes, warnings;
};

TEST(AnyPlan, ARunThatGoesOnUnderAnotherOneSaysSoAndNothingOfKernels) {
  Folder folder;
  RunFolder run = change_plans(folder, spreads()[0], spreads()[1]);
  for (const Spread& spread : {spreads()[1], spreads()[2]}) {
    Heard heard;
    RunConfig config = spread_run(spread, folder.path);
    TrainHooks hooks = hooks_for(spread, config);
    hooks.progress = &heard;
    make_training(config, hooks)->resume(Checkpoint::open(find_checkpoint(run.path())));
    bool is_other = spread.name != "data";
    EXPECT_EQ(heard.notes.find("under another plan") != std::string::npos, is_other);
    EXPECT_EQ(heard.warnings, "") << spread.name;
  }
}

/// The plan hash of earlier versions was that of another text and had only its digits.
void forget_plan_version(const fs::path& index) {
  std::ostringstream read;
  read << std::ifstream(index).rdbuf();
  std::string body = read.str();
  body.resize(body.rfind("  \"checksum\""));
  std::size_t at = body.find("plan 2 ");
  ASSERT_NE(at, std::string::npos);
  body.erase(at, std::string_view("plan 2 ").size());
  body[at] = body[at] == '0' ? '1' : '0';
  std::ofstream(index) << body
                       << fmt::format("  \"checksum\": \"{:016x}\"\n}}\n",
                                      checksum(std::as_bytes(std::span(body))));
}

TEST(AnyPlan, CheckpointsOfEarlierVersionsAreNotSaidToHaveAnotherPlan) {
  Folder folder;
  Spread spread = spreads()[1];
  RunFolder run = change_plans(folder, spread, spread);
  fs::path checkpoint = find_checkpoint(run.path());
  forget_plan_version(checkpoint / "index.json");
  Heard heard;
  RunConfig config = spread_run(spread, folder.path);
  TrainHooks hooks = hooks_for(spread, config);
  hooks.progress = &heard;
  make_training(config, hooks)->resume(Checkpoint::open(checkpoint));
  EXPECT_EQ(heard.notes.find("under another plan"), std::string::npos) << heard.notes;
  EXPECT_EQ(heard.warnings, "");
}

TEST(AnyPlan, PlanJsonOfARunNamesItsModelAndMachine) {
  Folder folder;
  Spread spread = spreads()[1];
  RunConfig config = spread_run(spread, folder.path);
  RunFolder run = RunFolder::create(config, "described");
  auto training = make_training(config);
  write_record(run, config, *training);
  std::ifstream file(run.path() / "plan.json");
  Strategy plan = parse_strategy(std::string{std::istreambuf_iterator<char>(file), {}});
  ASSERT_TRUE(plan.made_for && plan.made_on);
  EXPECT_EQ(plan.made_for->hash, training->state().model_hash);
  EXPECT_EQ(plan.made_on->devices, 2);
  EXPECT_EQ(plan.made_on->kinds,
            std::vector<std::string>{training->live().setup().device().kind()});
  EXPECT_EQ(plan.made_for->name, config.model.name);
  EXPECT_EQ(plan.made_for->options, settings_of(config, "model"));
  EXPECT_EQ(plan.made_for_batch, config.train.global_batch);
  EXPECT_EQ(plan.optimizer, settings_of(config, "optimizer"));
  EXPECT_FALSE(plan.optimizer.empty());
}

}  // namespace
}  // namespace troika
