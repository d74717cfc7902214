#include "strategy/message_names.h"

#include <gtest/gtest.h>

#include "strategy/strategy.h"
#include "strategy/testing/small_model.h"

namespace troika {
namespace {

std::string order_answer(std::vector<std::string> order, std::int64_t micro_batches = 1) {
  Strategy strategy{.micro_batches = micro_batches};
  strategy.sync.message_order = std::move(order);
  return why_infeasible(strategy, small_model(), machine_of(1)).value_or("fits");
}

TEST(MessageNames, AreThoseThatSomeStrategyMayHave) {
  EXPECT_EQ(order_answer({"d conv.weight", "conv.weight", "conv for bn forward",
                          "d conv for conv backward_data", "square_sums conv.weight", "sum of loss",
                          "sum of gradients"}),
            "fits");
  EXPECT_EQ(order_answer({"conv#0 for bn forward", "conv#1 for bn forward"}, 2), "fits");
}

TEST(MessageNames, OfOtherModelsAreRefused) {
  const std::string has_no = ", but the model 'small' has no ";
  EXPECT_EQ(order_answer({"d conv.wieght"}), "'message_order' names 'd conv.wieght'" + has_no +
                                                 "'d conv.wieght'; did you mean 'd conv.weight'?");
  EXPECT_EQ(order_answer({"the first of all"}), "'message_order' names 'the first of all'" +
                                                    has_no + "'the first of all'; remove the name");
  EXPECT_EQ(order_answer({"conv for dense forward"}),
            "'message_order' names 'conv for dense forward'" + has_no +
                "operator 'dense'; remove the name");
  EXPECT_EQ(order_answer({"conv for bn"}),
            "'message_order' names 'conv for bn', which does not end with a phase, as in 'for bn "
            "forward'");
}

TEST(MessageNames, OfMicroBatchesThatAreNotThereAreRefused) {
  EXPECT_EQ(order_answer({"conv#2 for bn forward"}, 2),
            "'message_order' names 'conv#2 for bn forward', but '2' is not one of the plan's 2 "
            "micro-batches, which are counted from 0; remove the name");
  EXPECT_NE(order_answer({"conv#0 for bn forward"}, 1), "fits");
}

TEST(MessageNames, EachMessageHasOnePlace) {
  EXPECT_EQ(order_answer({"sum of loss", "sum of loss"}),
            "'message_order' names 'sum of loss' twice; each message has one place");
}

TEST(MessageNames, OfAnotherGraphOfTheModelAreLeftOut) {
  Strategy both;
  both.sync.message_order = {"d of.another.graph", "d conv.weight"};
  EXPECT_EQ(restricted(both, small_model()).sync.message_order,
            std::vector<std::string>{"d conv.weight"});
}

}  // namespace
}  // namespace troika
