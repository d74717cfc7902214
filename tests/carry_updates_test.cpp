// Updates that overlap the next forward pass (docs/design.md, Lowering) change when a weight is
// written, but not its value.
#include <gtest/gtest.h>

#include "small_training.h"
#include "strategy/ready.h"

namespace troika {
namespace {

class CarriedUpdates : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(CarriedUpdates, LeaveTheSameBits) {
  auto [model, sliced] = GetParam();
  SmallCase asked{.model = model, .optimizer = "adam"};
  Strategy strategy =
      for_all_graphs(asked, [](const Graph& graph) { return data_parallel(graph, machine_of(3)); });
  strategy.sync.sliced_update = sliced;
  SmallTraining beside = train_small(asked, 3, strategy);
  strategy.sync.carry_updates = false;
  SmallTraining at_once = train_small(asked, 3, strategy);
  EXPECT_EQ(beside.losses, at_once.losses);
  EXPECT_TRUE(beside.first == at_once.first);
  EXPECT_TRUE(beside.last == at_once.last);
  EXPECT_FALSE(beside.first == beside.last);
}

// dcgan has two programs that take turns, so all updates finish before the other program begins.
INSTANTIATE_TEST_SUITE_P(Models, CarriedUpdates,
                         testing::Combine(testing::Values("lenet", "gpt2", "dcgan"),
                                          testing::Bool()),
                         [](const auto& row) {
                           return std::get<0>(row.param) +
                                  (std::get<1>(row.param) ? "_sliced" : "");
                         });

}  // namespace
}  // namespace troika
