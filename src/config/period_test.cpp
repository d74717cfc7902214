#include "config/period.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

using enum PeriodUnit;

TEST(ParsePeriod, ReadsEveryUnit) {
  EXPECT_EQ(parse_period("500 steps"), (Period{500, steps}));
  EXPECT_EQ(parse_period("1 step"), (Period{1, steps}));
  EXPECT_EQ(parse_period("1 epoch"), (Period{1, epochs}));
  EXPECT_EQ(parse_period("0.5epochs"), (Period{0.5, epochs}));
  EXPECT_EQ(parse_period("5%"), (Period{5, percent}));
  EXPECT_EQ(parse_period("2.5 %"), (Period{2.5, percent}));
  EXPECT_EQ(parse_period("10m"), (Period{600, seconds}));
  EXPECT_EQ(parse_period("90s"), (Period{90, seconds}));
  EXPECT_EQ(parse_period("never"), (Period{0, never}));
}

TEST(ParsePeriod, RefusesWhatIsNoPeriod) {
  for (const char* text :
       {"", "5", "steps", "-1 steps", "1.5 steps", "101%", "1 stepss", "nan steps", "inf epochs",
        "1e300 epochs", "1 e", "5 % x", "Never", "1 day"}) {
    EXPECT_EQ(parse_period(text), std::nullopt) << text;
  }
}

TEST(ParsePeriod, ReadsBackWhatToStringWrites) {
  for (Period period :
       {Period{1, steps}, Period{999999999999, steps}, Period{1, epochs}, Period{0.1, epochs},
        Period{12.5, percent}, Period{0.25, seconds}, Period{0, never}}) {
    EXPECT_EQ(parse_period(to_string(period)), period) << to_string(period);
  }
}

TEST(StepsOf, ConvertsByTheLengthOfTheRun) {
  RunLength length{.steps_per_epoch = 12.5, .total_steps = 1000};
  EXPECT_EQ(steps_of({7, steps}, length), 7);
  EXPECT_EQ(steps_of({2, epochs}, length), 25);
  EXPECT_EQ(steps_of({1, epochs}, length), 13);
  EXPECT_EQ(steps_of({5, percent}, length), 50);
}

TEST(StepsOf, IsAtLeastOneUnlessThePeriodIsZero) {
  RunLength length{.steps_per_epoch = 2, .total_steps = 10};
  EXPECT_EQ(steps_of({0.1, percent}, length), 1);
  EXPECT_EQ(steps_of({0, percent}, length), 0);
}

TEST(StepsOf, TimesAreABug) { EXPECT_THROW(steps_of({1, seconds}, {}), Bug); }

}  // namespace
}  // namespace troika
