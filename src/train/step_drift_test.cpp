#include "train/step_drift.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

using namespace std::chrono_literals;

StepDriftWatch watch_of(int steps, std::chrono::nanoseconds each) {
  StepDriftWatch watch(100ms, 8);
  for (int step = 0; step < steps; ++step) watch.add(each, 8);
  return watch;
}

TEST(StepDrift, IsFoundInBothDirections) {
  EXPECT_EQ(watch_of(20, 120ms).find(), (StepDrift{100ms, 120ms}));
  EXPECT_EQ(watch_of(20, 80ms).find(), (StepDrift{100ms, 80ms}));
}

TEST(StepDrift, IsNotWhatAPredictionMayBeOffBy) {
  EXPECT_EQ(watch_of(20, 115ms).find(), std::nullopt);
  EXPECT_EQ(watch_of(20, 85ms).find(), std::nullopt);
}

TEST(StepDrift, NeedsTenStepsAfterTheFirstTwo) {
  EXPECT_EQ(watch_of(11, 150ms).find(), std::nullopt);
  EXPECT_TRUE(watch_of(12, 150ms).find());
}

TEST(StepDrift, IgnoresStepsOfAnotherBatchAndOutliers) {
  StepDriftWatch watch = watch_of(20, 100ms);
  for (int step = 0; step < 30; ++step) watch.add(200ms, 16);
  for (int step = 0; step < 5; ++step) watch.add(1s, 8);
  EXPECT_EQ(watch.find(), std::nullopt);
}

TEST(StepDrift, ForgetsStepsOfLongAgo) {
  StepDriftWatch watch = watch_of(1000, 100ms);
  for (int step = 0; step < 1000; ++step) watch.add(150ms, 8);
  EXPECT_EQ(watch.find(), (StepDrift{100ms, 150ms}));
}

TEST(StepDrift, IsUnknownWithoutAPrediction) {
  StepDriftWatch watch(0ms, 8);
  for (int step = 0; step < 20; ++step) watch.add(1ms, 8);
  EXPECT_EQ(watch.find(), std::nullopt);
}

}  // namespace
}  // namespace troika
