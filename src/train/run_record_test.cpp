#include "train/run_record.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

bool is_reached(const char* until, const TrainOutcome& outcome) {
  return is_target_reached(parse_condition(until), outcome);
}

TrainOutcome after(double loss, std::optional<EvaluationReport> evaluation = {}) {
  return {.loss = loss, .has_loss = true, .evaluation = evaluation};
}

TEST(Target, WithoutOneNoRunIsAtItsEnd) { EXPECT_FALSE(is_target_reached(std::nullopt, after(0))); }

TEST(Target, IsMeasuredByItsOwnMetric) {
  EvaluationReport test{.test_loss = 0.5, .test_accuracy = 0.9};
  EXPECT_TRUE(is_reached("loss <= 0.2", after(0.2)));
  EXPECT_FALSE(is_reached("loss < 0.2", after(0.2, test)));
  EXPECT_TRUE(is_reached("test_loss < 0.6", after(1, test)));
  EXPECT_FALSE(is_reached("test_loss < 0.5", after(0, test)));
  EXPECT_TRUE(is_reached("test_accuracy >= 0.9", after(1, test)));
  EXPECT_FALSE(is_reached("test_accuracy >= 0.91", after(1, test)));
}

TEST(Target, IsNotReachedByWhatIsNotKnown) {
  EXPECT_FALSE(is_reached("loss < 1", {}));
  EXPECT_FALSE(is_reached("test_loss < 1", after(0)));
  EXPECT_FALSE(is_reached("test_accuracy > 0", after(0, EvaluationReport{.test_loss = 0})));
}

}  // namespace
}  // namespace troika
