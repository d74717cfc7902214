#include "config/show_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/run_keys.h"
#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(WriteToml, ReadsBackToTheSameRun) {
  for (std::string_view text : {kSmallRun, kFullRun}) {
    RunConfig run = parse(text);
    EXPECT_EQ(parse(write_toml(run)), run);
  }
}

TEST(WriteToml, KeepsOddStringsAndNumbers) {
  RunConfig run = parse(kSmallRun);
  run.model.name = "quote \" slash \\ line\nbreak\ttab \x01\x7f ü";
  run.model.options = {{"whole", 1.0},
                       {"a.b c", std::string("")},
                       {"tiny", 1e-300},
                       {"least", std::numeric_limits<std::int64_t>::min()}};
  run.optimizer.learning_rate = 0.1 + 0.2;
  run.data.normalize = {Normalize::Kind::given, {0.5}, {0.25}};
  EXPECT_EQ(parse(write_toml(run)), run);
}

TEST(WriteToml, EveryOptimizerAndScheduleReadsBack) {
  RunConfig run = parse(kSmallRun);
  for (const auto& optimizer : choices(OptimizerConfig::Kind{})) {
    for (const auto& schedule : choices(ScheduleConfig::Kind{})) {
      run.optimizer.kind = optimizer.value;
      run.optimizer.schedule = {.kind = schedule.value};
      bool is_step = schedule.value == ScheduleConfig::Kind::step;
      if (is_step) run.optimizer.schedule.every = Period{3, PeriodUnit::epochs};
      EXPECT_EQ(parse(write_toml(run)), run) << optimizer.word << " " << schedule.word;
    }
  }
}

TEST(ShowRun, TellsTheOriginOfEveryValue) {
  std::vector<std::string> overrides{"train.seed=5"};
  RunFile run = parse_run(kSmallRun, "run.toml", overrides);
  std::string shown = show_run(run, "run.toml");
  EXPECT_THAT(shown, HasSubstr("name = \"lenet\"                              # run.toml:2\n"));
  EXPECT_THAT(shown, HasSubstr("seed = 5                                    # command line\n"));
  EXPECT_THAT(shown, HasSubstr("learning_rate = 0.05                        # default\n"));
  EXPECT_THAT(shown, Not(HasSubstr("beta1"))) << "sgd does not use it";
}

TEST(ShowRun, IsARunFileOfTheSameRun) {
  RunFile run = parse_run(kFullRun, "run.toml");
  EXPECT_EQ(parse(show_run(run, "odd\nname.toml")), run.config);
}

TEST(RunTemplate, IsARunFileThatShowsEveryKey) {
  std::string text = run_template();
  RunConfig run = parse(text);
  EXPECT_EQ(run.model.name, "lenet");
  for (const Entry& entry : list_run({})) {
    std::string key = entry.path.substr(entry.path.find('.') + 1);
    EXPECT_THAT(text, HasSubstr(key + " = ")) << entry.path;
  }
}

// What is commented out must be true as well: each such line is tried by itself where it may stand
// alone.
TEST(RunTemplate, ItsExamplesAreAllowedValues) {
  for (const Entry& entry : list_run({})) {
    if (entry.example.empty() || !entry.used_by.empty()) continue;
    for (const std::string& error : errors_of(kSmallRun, {entry.path + "=" + entry.example}))
      EXPECT_THAT(error, Not(HasSubstr(" must be "))) << entry.path;
  }
}

}  // namespace
}  // namespace troika::config
