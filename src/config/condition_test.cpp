#include "config/condition.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

using Comparison = Condition::Comparison;
using Measure = Metric::Measure;
using Set = Metric::Set;

TEST(ParseCondition, ReadsEveryComparisonWithAndWithoutSpaces) {
  EXPECT_EQ(parse_condition("test_accuracy >= 0.99"),
            (Condition{Metric{Set::test, Measure::accuracy}, Comparison::greater_equal, 0.99}));
  EXPECT_EQ(parse_condition("loss<1e-3"), (Condition{Metric{}, Comparison::less, 1e-3}));
  EXPECT_EQ(parse_condition(" test_loss<= 2 "),
            (Condition{Metric{Set::test, Measure::loss}, Comparison::less_equal, 2}));
  EXPECT_EQ(parse_condition("loss >-1"), (Condition{Metric{}, Comparison::greater, -1}));
}

TEST(ParseCondition, RefusesWhatIsNoCondition) {
  for (const char* text :
       {"", "loss", "loss 1", "loss == 1", "loss => 1", "loss >= ", ">= 1", "los < 1", "loss < 1 2",
        "loss < nan", "loss < inf", "1 > loss", "loss >>= 1"}) {
    EXPECT_EQ(parse_condition(text), std::nullopt) << text;
  }
}

TEST(ParseCondition, ReadsBackWhatToStringWrites) {
  Condition condition{Metric{Set::test, Measure::loss}, Comparison::less, 0.1};
  EXPECT_EQ(parse_condition(to_string(condition)), condition);
}

TEST(Holds, ComparesAsItSays) {
  auto at = [](Comparison comparison, double value) {
    return holds({Metric{}, comparison, 1.0}, value);
  };
  EXPECT_TRUE(at(Comparison::less, 0.9));
  EXPECT_FALSE(at(Comparison::less, 1.0));
  EXPECT_TRUE(at(Comparison::less_equal, 1.0));
  EXPECT_FALSE(at(Comparison::less_equal, 1.1));
  EXPECT_TRUE(at(Comparison::greater, 1.1));
  EXPECT_FALSE(at(Comparison::greater, 1.0));
  EXPECT_TRUE(at(Comparison::greater_equal, 1.0));
  EXPECT_FALSE(at(Comparison::greater_equal, 0.9));
}

}  // namespace
}  // namespace troika
