#include "verify/movement.h"

#include <gtest/gtest.h>

#include <limits>

namespace troika {
namespace {

using Tensors = std::vector<StateTensor>;

/// A weight that moves by 5, one that stays, and a statistic that moves by 1000.
struct Moved {
  Tensors start{{"w", StateKind::weight, {1, 1}},
                {"still", StateKind::weight, {2}},
                {"mean", StateKind::statistics, {0}}};
  Tensors truth{{"w", StateKind::weight, {4, 5}},
                {"still", StateKind::weight, {2}},
                {"mean", StateKind::statistics, {1000}}};
  Tensors found = truth;

  Comparison compare(double tolerance) const {
    return compare_movements({start, found, truth}, tolerance);
  }
};

TEST(CompareMovements, EqualStatesAreNotApart) {
  Comparison result = Moved().compare(0);
  EXPECT_FALSE(result.first);
  EXPECT_EQ(result.largest.distance, 0);
}

TEST(CompareMovements, MeasuresAgainstTheMovementAndNotTheValue) {
  Moved moved;
  moved.found[0].values[0] += 0.1;
  Comparison result = moved.compare(1e-3);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->tensor, "w");
  EXPECT_NEAR(result.first->distance, 0.1 / (5 + 5), 1e-12);
}

TEST(CompareMovements, ATensorThatStaysIsHeldAgainstTheLargestMovementOfItsKind) {
  Moved moved;
  moved.found[1].values[0] += 1e-3;
  EXPECT_NEAR(moved.compare(1).largest.distance, 1e-3 / 5, 1e-12);
}

TEST(CompareMovements, NamesTheFirstBeyondTheToleranceAndTheLargestOfAll) {
  Moved moved;
  moved.found[0].values[0] += 0.1;
  moved.found[2].values[0] += 500;
  Comparison result = moved.compare(1e-6);
  EXPECT_EQ(result.first->tensor, "w");
  EXPECT_EQ(result.largest.tensor, "mean");
}

TEST(CompareMovements, WhatIsNotFiniteIsBeyondAnyTolerance) {
  Moved moved;
  moved.found[0].values[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(moved.compare(1e9).first->tensor, "w");
}

TEST(CompareMovements, ADifferenceWhereNothingShouldMoveIsBeyondAnyTolerance) {
  Moved moved;
  moved.truth = moved.start;
  moved.found = moved.start;
  moved.found[2].values[0] = 1e-30;
  EXPECT_EQ(moved.compare(1e9).first->tensor, "mean");
}

}  // namespace
}  // namespace troika
