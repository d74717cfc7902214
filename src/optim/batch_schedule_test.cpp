#include "optim/batch_schedule.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(GlobalBatch, StaysWhenNoFactorIsGiven) { EXPECT_EQ(global_batch({.start = 96}, 1e9), 96); }

// Wide ResNet of the paper: 128 samples, five times as many where the rate would fall to a fifth.
TEST(GlobalBatch, IsMultipliedEachTimeThePeriodPasses) {
  BatchSchedule schedule{.start = 128, .factor = 5, .every_epochs = 60};
  EXPECT_EQ(global_batch(schedule, 0), 128);
  EXPECT_EQ(global_batch(schedule, 59.99), 128);
  EXPECT_EQ(global_batch(schedule, 60), 640);
  EXPECT_EQ(global_batch(schedule, 120), 3200);
}

TEST(GlobalBatch, StopsAtTheLastMultipleWithinTheLimit) {
  BatchSchedule schedule{.start = 100, .factor = 2, .every_epochs = 0.5, .limit = 799};
  EXPECT_EQ(global_batch(schedule, 0.5), 200);
  EXPECT_EQ(global_batch(schedule, 1.0), 400);
  EXPECT_EQ(global_batch(schedule, 100), 400);
  schedule.limit = 800;
  EXPECT_EQ(global_batch(schedule, 100), 800);
}

TEST(GlobalBatch, NeverOverflowsHoweverLongTheRun) {
  EXPECT_GT(global_batch({.start = 3, .factor = 7, .every_epochs = 1e-3}, 1e15), 0);
}

}  // namespace
}  // namespace troika
