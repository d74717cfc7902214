#include "train/course.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

TEST(Course, EpochsEndWithTheStepThatUsesTheLastSample) {
  EXPECT_EQ(Course({.global_batch = 4, .epochs = 2}, 10).total_steps(), 5);
  EXPECT_EQ(Course({.global_batch = 4, .epochs = 1}, 10).total_steps(), 3);
  EXPECT_EQ(Course({.global_batch = 4, .epochs = 1}, 12).total_steps(), 3);
}

TEST(Course, StepsAreCountedWhateverTheSamples) {
  Course course({.global_batch = 4, .steps = 7}, 10);
  EXPECT_EQ(course.total_steps(), 7);
  EXPECT_DOUBLE_EQ(course.length().steps_per_epoch, 2.5);
  EXPECT_EQ(course.length().total_steps, 7);
}

TEST(Course, ATargetAloneLeavesTimeToReachIt) {
  EXPECT_EQ(Course({.global_batch = 10, .until = Condition{}}, 10).total_steps(), 1000);
  EXPECT_EQ(Course({.global_batch = 10, .epochs = 3, .until = Condition{}}, 10).total_steps(), 3);
}

TEST(Course, TheBatchGrowsWithTheEpochsUpToItsLimit) {
  TrainConfig config{.global_batch = 5, .epochs = 4};
  config.batch_schedule = {.factor = 2, .every = Period{1, PeriodUnit::epochs}, .limit = 10};
  Course course(config, 20);
  EXPECT_EQ(course.batches(), (std::vector<std::int64_t>{5, 10}));
  EXPECT_EQ(course.batch_at(19), 5);
  EXPECT_EQ(course.batch_at(20), 10);
  EXPECT_EQ(course.batch_at(70), 10);
  EXPECT_EQ(course.total_steps(), 4 + 3 * 2);
}

TEST(Course, RefusesABatchThatGrowsInSteps) {
  TrainConfig config{.steps = 4};
  config.batch_schedule = {.factor = 2, .every = Period{1, PeriodUnit::steps}};
  EXPECT_THROW(Course(config, 20), Error);
}

}  // namespace
}  // namespace troika
