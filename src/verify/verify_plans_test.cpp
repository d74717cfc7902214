#include "verify/verify_plans.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "base/error.h"
#include "strategy/ready.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PlanVerdicts verify_small(const Folder& folder, const std::vector<std::string>& plans,
                          std::vector<std::string> overrides = {}) {
  return verify_plans(language_run(folder, overrides), {.plans = plans, .steps = 3});
}

std::string complaint(const Folder& folder, const std::vector<std::string>& plans,
                      int expected_code) {
  try {
    verify_small(folder, plans);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), expected_code);
    return error.what();
  }
  return "none";
}

std::string write_plan(const Folder& folder, const std::string& name, const Strategy& strategy) {
  fs::path file = folder.path / name;
  std::ofstream(file) << to_json(strategy);
  return file.string();
}

/// Returns plan "data" for the model of language_run on so many devices.
Strategy data_plan(const Folder& folder, std::size_t devices) {
  Machine machine;
  machine.devices.resize(devices);
  return data_parallel(make_training(language_run(folder))->model().train(), machine);
}

TEST(VerifyPlans, ReadyPlansAgreeWithOneDevice) {
  Folder folder;
  PlanVerdicts verdicts = verify_small(folder, {"data:2", "tensor:2", "placed:3"});
  EXPECT_EQ(verdicts.steps, 3);
  ASSERT_EQ(verdicts.plans.size(), 3u);
  EXPECT_EQ(verdicts.plans[2].devices, 3);
  for (const PlanVerdict& verdict : verdicts.plans) {
    EXPECT_TRUE(verdict.agrees()) << verdict.plan << " " << verdict.largest().value;
    for (const Finding& finding : verdict.findings) {
      EXPECT_EQ(finding.allowed, 1e-9);
      EXPECT_LT(finding.distance, 1e-9);
    }
    EXPECT_NEAR(verdict.loss, verdicts.loss, 1e-9);
  }
}

TEST(VerifyPlans, SumsInAnotherOrderDifferWhereNothingIsAllowed) {
  Folder folder;
  PlanVerdicts verdicts =
      verify_plans(language_run(folder), {.plans = {"data:4"}, .steps = 3, .tolerance = 0});
  const PlanVerdict& verdict = verdicts.plans[0];
  ASSERT_NE(verdict.first(), nullptr);
  EXPECT_NE(verdict.first()->value, "loss");
  EXPECT_FALSE(verdict.agrees());
  EXPECT_GT(verdict.largest().distance, 0);
  EXPECT_LT(verdict.largest().distance, 1e-9);
}

TEST(VerifyPlans, AFixedOrderAllowsNoDifferenceAndHasNone) {
  Folder folder;
  for (bool cpu : {false, true}) {
    PlanVerdicts verdicts =
        verify_plans(language_run(folder, {"parallel.order=fixed", "train.shards=4"}),
                     {.plans = {"data:2", "data:4"}, .steps = 3, .cpu_kernels = cpu});
    for (const PlanVerdict& verdict : verdicts.plans) {
      EXPECT_EQ(verdict.largest().allowed, 0);
      EXPECT_TRUE(verdict.has_same_bits()) << verdict.plan << " " << verdict.largest().value;
    }
  }
}

TEST(VerifyPlans, APlanFileSaysHowManyDevicesItNeeds) {
  Folder folder;
  Strategy strategy = data_plan(folder, 3);
  PlanVerdicts verdicts = verify_small(folder, {write_plan(folder, "three.json", strategy)});
  EXPECT_EQ(verdicts.plans[0].devices, 3);
  EXPECT_TRUE(verdicts.plans[0].agrees());
}

TEST(VerifyPlans, ADeviceBeyondThoseOfThePlanIsRefusedAtOnce) {
  Folder folder;
  Strategy strategy = data_plan(folder, 2);
  for (std::size_t device : {65536u, 20000u, 3u}) {
    Strategy damaged = strategy;
    damaged.splits.begin()->second = {.factors = {{"n", 2}},
                                      .devices = {DeviceId(0u), DeviceId(device)}};
    std::string file = write_plan(folder, "typo.json", damaged);
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(complaint(folder, {file}, 2),
              fmt::format("the plan names device {0} but uses 3 in all; number its devices from 0 "
                          "without gaps, or write {1}:{2} for a run on {2} devices",
                          device, file, device + 1));
    damaged.made_on = PlannedMachine{.devices = 2};
    file = write_plan(folder, "typo.json", damaged);
    EXPECT_THAT(complaint(folder, {file}, 2),
                HasSubstr(fmt::format("the plan names device {} but was made for 2;", device)));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  }
}

TEST(VerifyPlans, ADeviceThatIsMissingFromTheRunIsRefused) {
  Folder folder;
  Strategy strategy = data_plan(folder, 2);
  strategy.splits.begin()->second = {.factors = {{"n", 2}},
                                     .devices = {DeviceId(0u), DeviceId(3u)}};
  std::string file = write_plan(folder, "gap.json", strategy);
  EXPECT_THAT(complaint(folder, {file + ":3"}, 2), HasSubstr("placed on device 3"));
  EXPECT_TRUE(verify_small(folder, {file + ":4"}).plans[0].agrees());
}

TEST(VerifyPlans, APlanThatARunOfSeveralGraphsHasSavedIsForThatModel) {
  Folder folder;
  RunConfig config =
      parse_run(
          "[model]\nname = \"dcgan\"\nwidth = 4\nnoise = 8\n[data]\ntrain = "
          "\"digits:train?size=16\"\n[train]\nglobal_batch = 4\nsteps = 1\n"
          "[kernels]\nbackend = \"reference\"\n[parallel]\nthreads = 1\n",
          "gan.toml", std::vector<std::string>{"parallel.plan=data", "parallel.devices=2"})
          .config;
  auto training = make_training(config);
  ASSERT_EQ(training->model().graphs.size(), 2u);
  fs::path file = folder.path / "gan.json";
  std::ofstream(file) << to_json(training->strategy(), training->model().train(),
                                 training->live().setup().machine);
  PlanVerdicts verdicts = verify_plans(config, {.plans = {file.string()}, .steps = 1});
  EXPECT_EQ(verdicts.plans.at(0).devices, 2);
  EXPECT_TRUE(verdicts.plans.at(0).agrees());
}

TEST(VerifyPlans, EveryPlanThatCannotRunIsNamedBeforeTheFirstRuns) {
  Folder folder;
  auto training = make_training(language_run(folder));
  const Operator& first = training->model().train().operators.front();
  Strategy along_nothing, too_far;
  along_nothing.splits[first.name] = {.factors = {{"nonsense", 2}},
                                      .devices = {DeviceId(0u), DeviceId(1u)}};
  too_far.splits[first.name] = {.devices = {DeviceId(5u)}};
  std::string a = write_plan(folder, "a.json", along_nothing);
  std::string b = write_plan(folder, "b.json", too_far);
  std::string said = complaint(folder, {a, "data:2", b + ":2"}, 2);
  EXPECT_THAT(said, AllOf(HasSubstr("a.json' cannot run: "), HasSubstr("nonsense"),
                          HasSubstr(first.name), HasSubstr("b.json:2' cannot run: ")));
}

TEST(VerifyPlans, APlanThatIsNoneEndsInASentence) {
  Folder folder;
  EXPECT_THAT(complaint(folder, {"data"}, 2), HasSubstr("write data:2, for example"));
  EXPECT_THAT(complaint(folder, {"data:many"}, 2), HasSubstr("does not end with a number"));
  EXPECT_THAT(complaint(folder, {"dtaa:2"}, 2), HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(complaint(folder, {"missing.json"}, 3), HasSubstr("missing.json"));
}

TEST(VerifyPlans, AFixedOrderIsAskedOfPlanFilesToo) {
  Folder folder;
  RunConfig config = language_run(folder, {"parallel.order=fixed", "train.shards=4"});
  auto training = make_training(config);
  std::string plain = write_plan(folder, "plain.json", Strategy::single());
  std::string fixed = write_plan(folder, "fixed.json", training->strategy());
  EXPECT_THROW(verify_plans(config, {.plans = {plain}, .steps = 1}), Error);
  EXPECT_TRUE(verify_plans(config, {.plans = {fixed}, .steps = 1}).plans.at(0).agrees());
}

TEST(VerifyPlans, StartsFromTheGivenWeights) {
  Folder folder;
  RunConfig config = language_run(folder, {"kernels.backend=reference", "kernels.dtype=f64"});
  auto training = make_training(config, stop_after(2));
  training->initialize();
  training->run(nullptr);
  save_state(folder.path / "checkpoints", training->live(), training->state());
  VerifyOptions options{.plans = {"data:2"}, .steps = 1};
  double fresh = verify_plans(config, options).loss;
  options.from = (folder.path / "checkpoints").string();
  PlanVerdicts verdicts = verify_plans(config, options);
  EXPECT_NE(verdicts.loss, fresh);
  EXPECT_TRUE(verdicts.plans[0].agrees());
}

}  // namespace
}  // namespace troika
