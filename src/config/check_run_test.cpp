#include "config/check_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kUntilRun =
    "[model]\nname = \"lenet\"\n[data]\ntrain = \"digits:train\"\ntest = \"digits:test\"\n"
    "[train]\nuntil = \"test_accuracy > 0.9\"\n";

TEST(CheckRun, F64NeedsTheReferenceKernels) {
  EXPECT_THAT(
      errors_of(small_run_with("[kernels]\ndtype = \"f64\"\nbackend = \"cpu\"\n")),
      ElementsAre("run.toml:8:9: error: dtype = \"f64\" is available for the reference kernels "
                  "only; set backend = \"reference\""));
  EXPECT_THAT(errors_of(small_run_with("[kernels]\ndtype = \"f64\"\nbackend = \"reference\"\n")),
              IsEmpty());
}

TEST(CheckRun, EpochsExcludeSteps) {
  EXPECT_THAT(errors_of(small_run_with("steps = 3\n")),
              ElementsAre(HasSubstr("run.toml:7:9: error: both 'epochs' and 'steps'")));
}

TEST(CheckRun, ARunMustSayHowLongItIs) {
  EXPECT_THAT(
      errors_of("[model]\nname = \"m\"\n[data]\ntrain = \"d\"\n[train]\nseed = 1\n"),
      ElementsAre(HasSubstr("run.toml:5:1: error: [train] does not say how long to train")));
  EXPECT_THAT(errors_of(kUntilRun), IsEmpty());
}

TEST(CheckRun, ShardsDivideTheGlobalBatch) {
  EXPECT_THAT(
      errors_of(small_run_with("global_batch = 64\nshards = 3\n")),
      ElementsAre(HasSubstr("run.toml:8:10: error: 'global_batch' = 64 cannot be cut into 3")));
}

TEST(CheckRun, IsSilentAboutValuesThatWereRefusedAlready) {
  EXPECT_EQ(errors_of(small_run_with("global_batch = 0\nshards = 3\n")).size(), 1u);
}

TEST(CheckRun, ADescendingRateNeedsAKnownEnd) {
  std::string until = kUntilRun;
  std::string why = "the schedule depends on the length of the run";
  EXPECT_THAT(errors_of(until + "[optimizer]\nschedule = { kind = \"cosine\" }\n"),
              ElementsAre(HasSubstr(why)));
  EXPECT_THAT(errors_of(until + "[optimizer]\nschedule = { warmup = \"5%\" }\n"),
              ElementsAre(HasSubstr(why)));
  EXPECT_THAT(errors_of(until + "steps = 100\n[optimizer]\nschedule = { kind = \"cosine\" }\n"),
              IsEmpty());
  EXPECT_THAT(errors_of(until + "[optimizer]\nschedule = { warmup = \"5 steps\" }\n"), IsEmpty());
}

TEST(CheckRun, AStepScheduleNeedsItsPeriod) {
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nschedule = { kind = \"step\" }\n")),
              ElementsAre(HasSubstr("run.toml:8:21: error: a step schedule needs 'every'")));
}

TEST(CheckRun, NesterovNeedsMomentum) {
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nnesterov = true\n")),
              ElementsAre(HasSubstr("needs a 'momentum' above 0")));
}

TEST(CheckRun, ABatchScheduleIsComplete) {
  EXPECT_THAT(errors_of(small_run_with("batch_schedule = { factor = 2, limit = 32 }\n")),
              ElementsAre(HasSubstr("needs 'every'"), HasSubstr("is below 'global_batch' = 64")));
}

TEST(CheckRun, TestMetricsNeedTestSamplesAndEvaluation) {
  EXPECT_THAT(
      errors_of(small_run_with("[checkpoint]\nbest = \"test_loss\"\n")),
      ElementsAre("run.toml:8:8: error: test_loss needs test samples; add 'test' to [data]"));
  EXPECT_THAT(errors_of(small_run_with("[checkpoint]\nbest = \"loss\"\n")), IsEmpty());
  EXPECT_THAT(errors_of(std::string(kUntilRun) + "evaluate = \"never\"\n"),
              ElementsAre(HasSubstr("'test_accuracy' is never computed")));
}

TEST(CheckRun, WithValidationSamplesTheTestSetDecidesNothing) {
  const std::string data =
      "[model]\nname = \"lenet\"\n[data]\ntrain = \"digits:train\"\nvalidation = \"10%\"\n"
      "test = \"digits:test\"\n[train]\nepochs = 1\n";
  EXPECT_THAT(errors_of(data + "until = \"test_accuracy > 0.9\"\n"),
              ElementsAre(HasSubstr("use validation_accuracy instead of test_accuracy")));
  EXPECT_THAT(errors_of(data + "until = \"validation_accuracy > 0.9\"\npatience = 3\n"), IsEmpty());
  EXPECT_THAT(errors_of(small_run_with("until = \"validation_loss < 1\"\n")),
              ElementsAre(HasSubstr("validation_loss needs validation samples")));
}

TEST(CheckRun, PatienceNeedsEvaluations) {
  EXPECT_THAT(errors_of(small_run_with("patience = 3\n")),
              ElementsAre(HasSubstr("needs samples to evaluate; add 'validation' to [data]")));
  EXPECT_THAT(errors_of(std::string(kUntilRun) + "patience = 3\n[checkpoint]\nbest = \"loss\"\n"),
              ElementsAre(HasSubstr("'patience' in [train] counts evaluations")));
}

TEST(CheckRun, ThePlanUsesTheDevicesThereAre) {
  EXPECT_THAT(errors_of(small_run_with("[parallel]\ndevices = 2\n")),
              ElementsAre(HasSubstr("run.toml:8:11: error: plan = \"single\" uses one device")));
  EXPECT_THAT(
      errors_of(small_run_with("[parallel]\ndevices = 3\nplan = { data = 2, pipeline = 2 }\n")),
      ElementsAre(HasSubstr("make 4 devices, but devices = 3")));
}

TEST(CheckRun, WhatAPlanFileSaysIsNotSaidBesideIt) {
  auto run = [](const std::string& keys) {
    return small_run_with("[parallel]\ndevices = 2\nplan = \"mine.json\"\n" + keys);
  };
  EXPECT_THAT(errors_of(run("micro_batches = 1\nsliced_update = false\ncarry_updates = true\n")),
              IsEmpty());
  EXPECT_THAT(errors_of(run("micro_batches = 4\n")),
              ElementsAre(HasSubstr("set \"micro_batches\" in mine.json")));
  EXPECT_THAT(errors_of(run("carry_updates = false\n")),
              ElementsAre(HasSubstr("set \"carry_updates\" in \"sync\" of mine.json")));
  EXPECT_THAT(errors_of(run("sliced_update = true\n")),
              ElementsAre(HasSubstr("set \"sliced_update\" in \"sync\" of mine.json")));
  EXPECT_THAT(errors_of(run("weights = \"measured\"\n")),
              ElementsAre(HasSubstr("set \"weights\" of each operator in mine.json")));
}

TEST(CheckRun, FixedOrderNeedsShardsForEveryDevice) {
  auto run = [](int shards, int devices) {
    return small_run_with(
        "global_batch = 96\nshards = " + std::to_string(shards) +
        "\n[parallel]\norder = \"fixed\"\nplan = \"data\"\ndevices = " + std::to_string(devices));
  };
  EXPECT_THAT(errors_of(run(4, 2)), IsEmpty());
  EXPECT_THAT(errors_of(run(3, 1)), ElementsAre(HasSubstr("a power of two")));
  EXPECT_THAT(errors_of(run(2, 4)), ElementsAre(HasSubstr("a power of two")));
  EXPECT_THAT(errors_of(run(4, 2) + "\nweights = \"measured\"\n"),
              ElementsAre(HasSubstr("leave out weights = \"measured\"")));
}

}  // namespace
}  // namespace troika::config
