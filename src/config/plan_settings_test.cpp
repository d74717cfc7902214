#include "config/plan_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/override.h"
#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

using testing::Contains;
using testing::Not;

TEST(PlanSettings, AreTheKeysOfASectionThatAreUsed) {
  RunConfig run = parse(kFullRun);
  EXPECT_THAT(settings_of(run, "model"),
              testing::ElementsAre(Setting{"depth", "18"}, Setting{"width", "0.5"},
                                   Setting{"stem", "small"}, Setting{"bias", "false"},
                                   Setting{"\"odd name\"", "1"}));
  RunConfig adam = parse(kSmallRun, {"optimizer.name=adam", "optimizer.schedule.kind=cosine",
                                     "optimizer.schedule.warmup=5%"});
  std::vector<Setting> optimizer = settings_of(adam, "optimizer");
  EXPECT_THAT(optimizer, Contains(Setting{"name", "adam"}));
  EXPECT_THAT(optimizer, Contains(Setting{"schedule.kind", "cosine"}));
  EXPECT_THAT(optimizer, Contains(Setting{"schedule.warmup", "5%"}));
  EXPECT_THAT(optimizer, Not(Contains(testing::Field(&Setting::name, "momentum"))));
}

/// So that a plan file alone is enough for the same run.
TEST(PlanSettings, ReadBackAsArgumentsOfTheCommandLine) {
  RunConfig run = parse(kFullRun);
  std::vector<std::string> arguments;
  for (const Setting& setting : settings_of(run, "optimizer"))
    arguments.push_back("optimizer." + setting.name + "=" + setting.value);
  EXPECT_EQ(parse(kSmallRun, arguments).optimizer, run.optimizer);
}

TEST(ArgumentText, DropsQuotesOnlyWhereTheValueStaysTheSame) {
  EXPECT_EQ(argument_text("\"adam\""), "adam");
  EXPECT_EQ(argument_text("\"30 epochs\""), "30 epochs");
  EXPECT_EQ(argument_text("0.5"), "0.5");
  EXPECT_EQ(argument_text("[1, 2]"), "[1, 2]");
  for (const char* kept : {R"("128")", R"("true")", R"("")", R"(" a")", R"("[x")", R"("'x")"})
    EXPECT_EQ(argument_text(kept), kept);
}

}  // namespace
}  // namespace troika::config
