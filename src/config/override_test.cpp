#include "config/override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ApplyOverrides, ReplacesAndAddsValues) {
  RunConfig run = parse(kSmallRun, {"train.epochs=7", "optimizer.learning_rate=0.1",
                                    "optimizer.schedule.kind=cosine", "kernels.winograd=false"});
  EXPECT_EQ(run.train.epochs, 7);
  EXPECT_EQ(run.optimizer.learning_rate, 0.1);
  EXPECT_EQ(run.optimizer.schedule.kind, ScheduleConfig::Kind::cosine);
  EXPECT_FALSE(run.kernels.winograd);
}

TEST(ApplyOverrides, StringsNeedNoQuotes) {
  RunConfig run = parse(
      kSmallRun, {"data.train=idx:mnist[0:8000]", "data.test=\"digits:test\"", "run.name=2024",
                  "train.until=test_accuracy >= 0.99", "checkpoint.every=10m"});
  EXPECT_EQ(run.data.train, "idx:mnist[0:8000]");
  EXPECT_EQ(run.data.test, "digits:test");
  EXPECT_EQ(run.run.name, "2024");
  EXPECT_EQ(run.train.until->bound, 0.99);
  EXPECT_EQ(run.checkpoint.every, (Period{600, PeriodUnit::seconds}));
}

TEST(ApplyOverrides, TakesArraysTablesAndModelOptions) {
  RunConfig run =
      parse(kSmallRun, {"optimizer.groups=[{match=\"*.bias\", weight_decay=0}]", "model.depth=3",
                        "model.stem=wide", "parallel.plan.data=2", "parallel.devices=2"});
  EXPECT_THAT(run.optimizer.groups, ElementsAre(GroupConfig{"*.bias", 0.0, 1}));
  EXPECT_THAT(run.model.options, ElementsAre(ModelOption{"depth", std::int64_t{3}},
                                             ModelOption{"stem", std::string("wide")}));
  EXPECT_EQ(run.parallel.plan, (PlanConfig{"", 2, 1, 1}));
}

TEST(ApplyOverrides, TheLastOneWins) {
  EXPECT_EQ(parse(kSmallRun, {"train.seed=1", "train.seed=2"}).train.seed, 2);
}

TEST(ApplyOverrides, AnOverriddenLengthDisplacesThatOfTheFile) {
  RunConfig run = parse(kSmallRun, {"train.steps=10"});
  EXPECT_EQ(run.train.steps, 10);
  EXPECT_EQ(run.train.epochs, std::nullopt);
}

TEST(ApplyOverrides, TwoLengthsOnTheCommandLineAreRefused) {
  EXPECT_THAT(errors_of(kSmallRun, {"train.steps=10", "train.epochs=1"}),
              ElementsAre(HasSubstr("command line: error: both 'epochs' and 'steps'")));
}

TEST(ApplyOverrides, AnotherOptimizerDropsTheKeysOfTheOldOne) {
  std::string text = small_run_with("[optimizer]\nmomentum = 0.9\nweight_decay = 0.1\n");
  RunFile run = parse_run(text, "run.toml", std::vector<std::string>{"optimizer.name=adam"});
  EXPECT_EQ(run.config.optimizer.momentum, 0);
  EXPECT_FALSE(run.origins.contains("optimizer.momentum"));
  EXPECT_EQ(run.config.optimizer.weight_decay, 0.1);
}

TEST(ApplyOverrides, HasItsOwnFormOfError) {
  EXPECT_THAT(
      errors_of(kSmallRun, {"train.epochs", "train..x=1", "=1", "data.augment=[\"flip\"",
                            "train.sed=3", "optimizer.learning_rate=.1"}),
      ElementsAre(
          "command line: error: 'train.epochs': it is not of the form section.key=value, such as "
          "optimizer.learning_rate=0.1",
          HasSubstr("command line: error: 'train..x=1': it is not of the form"),
          HasSubstr("command line: error: '=1': it is not of the form"),
          HasSubstr("command line: error: 'data.augment=[\"flip\"': not valid TOML"),
          "command line: error: unknown key 'sed' in [train]; did you mean 'seed'?",
          "command line: error: 'learning_rate' in [optimizer] must be a number above 0, not "
          "\".1\""));
}

TEST(ApplyOverrides, AValueCannotSmuggleInAnotherKey) {
  EXPECT_THAT(errors_of(kSmallRun, {"data.augment=[]\ntrain = 1"}),
              ElementsAre(HasSubstr("more than one value")));
  EXPECT_EQ(parse(kSmallRun, {"model.name=a\nb"}).model.name, "a\nb");
}

TEST(ApplyOverrides, RefusesBytesThatAreNoText) {
  EXPECT_THAT(errors_of(kSmallRun, {"model.name=\xff\xfe"}),
              ElementsAre(HasSubstr("command line: error: ")));
}

}  // namespace
}  // namespace troika::config
