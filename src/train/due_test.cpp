#include "train/due.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

/// Ten steps of 4 samples per epoch.
const RunClock kClock{{.steps_per_epoch = 10, .total_steps = 100}, 40};

/// Returns the steps from `first` to 40 after which it was due.
std::vector<std::int64_t> due_steps(const Period& period, std::int64_t first = 0) {
  Due due(period, kClock);
  due.start_at({first, first * 4});
  std::vector<std::int64_t> steps;
  for (std::int64_t step = first + 1; step <= 40; ++step)
    if (due.now({step, step * 4})) steps.push_back(step);
  return steps;
}

using Steps = std::vector<std::int64_t>;

TEST(Due, ComesAtEachMultipleOfThePeriod) {
  EXPECT_EQ(due_steps({15, PeriodUnit::steps}), (Steps{15, 30}));
  EXPECT_EQ(due_steps({1.5, PeriodUnit::epochs}), (Steps{15, 30}));
  EXPECT_EQ(due_steps({15, PeriodUnit::percent}), (Steps{15, 30}));
  EXPECT_EQ(due_steps({0, PeriodUnit::never}), Steps{});
}

TEST(Due, ARunThatGoesOnDoesNotMakeUpForThePast) {
  EXPECT_EQ(due_steps({15, PeriodUnit::steps}, 17), (Steps{30}));
  EXPECT_EQ(due_steps({1.5, PeriodUnit::epochs}, 15), (Steps{30}));
}

TEST(Due, ComesOnceHoweverManyMultiplesAStepPasses) {
  Due due({2, PeriodUnit::steps}, kClock);
  due.start_at({});
  EXPECT_TRUE(due.now({9, 36}));
  EXPECT_FALSE(due.now({9, 36}));
}

TEST(Due, CountsSecondsFromTheStart) {
  Due soon({1e-9, PeriodUnit::seconds}, kClock), late({3600, PeriodUnit::seconds}, kClock);
  soon.start_at({});
  late.start_at({});
  EXPECT_TRUE(soon.now({1, 4}));
  EXPECT_FALSE(late.now({1, 4}));
}

}  // namespace
}  // namespace troika
