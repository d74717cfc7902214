#include "strategy/strategy.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "strategy/testing/tiny_model.h"

namespace troika {
namespace {

TEST(Strategy, SingleFitsAnyModel) {
  EXPECT_EQ(why_infeasible(Strategy::single(), parse_graph(kTinyModel), one_device()),
            std::nullopt);
}

TEST(Strategy, SaysWhichOperatorAndAxisIsWrong) {
  Strategy strategy;
  strategy.splits["fc"] = {.factors = {{"h", 2}}, .devices = devices({0, 0})};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kTinyModel), one_device()),
            "operator 'fc' has no axis 'h'; it has n, o, i");
  strategy.splits["fc"] = {.factors = {{"o", 3}}};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kTinyModel), one_device()),
            "operator 'fc' cannot be split 3 ways along 'o', which has 2 indices; 1 to 2 ways fit");
}

TEST(Strategy, MicroBatchesMustDivideTheBatch) {
  Strategy strategy{.micro_batches = 4};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kTinyModel), one_device()),
            "operator 'fc' sees a batch of 6, which 4 micro-batches do not divide");
  strategy.micro_batches = 3;
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kTinyModel), one_device()), std::nullopt);
}

}  // namespace
}  // namespace troika
