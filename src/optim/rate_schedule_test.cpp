#include "optim/rate_schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

TEST(LearningRate, ConstantNeverChanges) {
  RateSchedule schedule{.base = 0.3};
  for (std::int64_t step : {0, 1, 99, 1000000}) {
    EXPECT_EQ(learning_rate(schedule, step, 100), 0.3);
  }
}

TEST(LearningRate, WarmupRisesLinearlyAndReachesTheFullRateOnItsLastStep) {
  RateSchedule schedule{.base = 0.4, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0, 100), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1, 100), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2, 100), 0.3);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 3, 100), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4, 100), 0.4);
}

TEST(LearningRate, StepMultipliesByTheFactorEveryPeriod) {
  RateSchedule schedule{.base = 8, .shape = RateShape::step, .factor = 0.5, .every_steps = 30};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 29, 0), 8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 30, 0), 4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 59, 0), 4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 90, 0), 1);
}

TEST(LearningRate, StepCountsItsPeriodsFromTheStartOfTheWarmup) {
  RateSchedule schedule{
      .base = 1, .shape = RateShape::step, .warmup_steps = 4, .factor = 0.5, .every_steps = 10};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1, 0), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10, 0), 0.5);
}

TEST(LearningRate, PolynomialDescendsWithItsPowerToTheFinalRate) {
  RateSchedule schedule{.base = 2, .shape = RateShape::polynomial, .power = 2, .final_part = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0, 10), 2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 5, 10), 2 * (0.1 + 0.9 * 0.25));
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 11, 10), 0.2);
}

TEST(LearningRate, CosineIsHalfWayDownInTheMiddleOfWhatFollowsTheWarmup) {
  RateSchedule schedule{.base = 1, .shape = RateShape::cosine, .warmup_steps = 20};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9, 120), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 20, 120), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 45, 120), 0.85355339059327378);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 70, 120), 0.5);
  EXPECT_NEAR(learning_rate(schedule, 120, 120), 0, 1e-15);
}

TEST(LearningRate, ARunShorterThanItsWarmupOnlyRises) {
  RateSchedule schedule{.base = 1, .shape = RateShape::cosine, .warmup_steps = 10};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4, 5), 0.5);
}

TEST(LearningRate, NegativeStepsAreABug) { EXPECT_THROW(learning_rate({}, -1, 10), Bug); }

}  // namespace
}  // namespace troika
