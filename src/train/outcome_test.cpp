#include "train/outcome.h"

#include <gtest/gtest.h>

#include <limits>

namespace troika {
namespace {

using Measure = Metric::Measure;
using Set = Metric::Set;

bool is_reached(const char* until, const TrainOutcome& outcome) {
  return is_target_reached(parse_condition(until), outcome);
}

TrainOutcome after(double loss, const Figures& test = {}) {
  TrainOutcome outcome{.loss = loss};
  if (!test.empty()) outcome.add({.set = Set::test, .figures = test});
  return outcome;
}

TEST(Target, WithoutOneNoRunIsAtItsEnd) { EXPECT_FALSE(is_target_reached(std::nullopt, after(0))); }

TEST(Target, IsMeasuredByItsOwnMetric) {
  const Figures test{{Measure::loss, 0.5}, {Measure::accuracy, 0.9}, {Measure::top5, 0.99}};
  EXPECT_TRUE(is_reached("loss <= 0.2", after(0.2)));
  EXPECT_FALSE(is_reached("loss < 0.2", after(0.2, test)));
  EXPECT_TRUE(is_reached("test_loss < 0.6", after(1, test)));
  EXPECT_FALSE(is_reached("test_loss < 0.5", after(0, test)));
  EXPECT_TRUE(is_reached("test_accuracy >= 0.9", after(1, test)));
  EXPECT_FALSE(is_reached("test_accuracy >= 0.91", after(1, test)));
  EXPECT_TRUE(is_reached("test_top5 > 0.98", after(1, test)));
  EXPECT_FALSE(is_reached("validation_accuracy > 0", after(1, test)));
}

TEST(Target, IsNotReachedByWhatIsNotKnown) {
  EXPECT_FALSE(is_reached("loss < 1", {}));
  EXPECT_FALSE(is_reached("test_loss < 1", after(0)));
  EXPECT_FALSE(is_reached("test_accuracy > 0", after(0, {{Measure::loss, 0}})));
}

TEST(TrainOutcome, KeepsTheLastEvaluationOfEachSet) {
  TrainOutcome outcome;
  outcome.add({.step = 1, .set = Set::validation, .figures = {{Measure::loss, 3}}});
  outcome.add({.step = 2, .set = Set::test, .figures = {{Measure::loss, 5}}});
  outcome.add({.step = 2, .set = Set::validation, .figures = {{Measure::loss, 2}}});
  EXPECT_EQ(outcome.evaluations.size(), 2u);
  EXPECT_EQ(outcome.value_of({Set::validation, Measure::loss}), 2);
  EXPECT_EQ(outcome.value_of({Set::test, Measure::loss}), 5);
  EXPECT_EQ(outcome.value_of({Set::test, Measure::accuracy}), std::nullopt);
}

TEST(IsBetter, KnowsWhichWayAMetricGoes) {
  const Metric loss{Set::validation, Measure::loss}, accuracy{Set::validation, Measure::accuracy};
  EXPECT_TRUE(is_better(loss, 0.4, 0.5));
  EXPECT_FALSE(is_better(loss, 0.5, 0.5));
  EXPECT_TRUE(is_better(accuracy, 0.6, 0.5));
  EXPECT_FALSE(is_better(accuracy, 0.5, 0.5));
  EXPECT_TRUE(is_better(loss, 7, std::nullopt));
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(is_better(loss, none, std::nullopt));
  EXPECT_FALSE(is_better(loss, none, 1));
}

}  // namespace
}  // namespace troika
