#include "setup/measured_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lower/testing/lowered.h"
#include "sim/simulate.h"
#include "strategy/ready.h"

namespace troika {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

/// Two processes of two devices, under data parallelism.
class Conditions : public testing::Test {
 protected:
  Conditions() {
    for (std::size_t at = 0; at < 4; ++at)
      model_.machine.devices[at].rank = static_cast<std::int32_t>(at / 2);
    predicted_ = simulated(model_);
  }

  struct Simulated {
    TaskGraph graph;
    LoopPass pass;
  };
  Simulated simulated(Lowered& model) const {
    LowerRequest request = model.request();
    request.links = &links_;
    TaskGraph graph = model.run(request);
    SteadyLoop loop = simulate_loop(graph);
    return {graph, pass_of(graph, loop.pass, loop.period, messages_of(graph))};
  }

  MeasuredConditions find(const LoopPass& measured) const {
    return find_conditions({predicted_.graph, predicted_.pass, measured}, 4);
  }

  /// The same step, but of kernels that take this many times as long.
  LoopPass with_kernels(const std::function<double(const Task&)>& times) const {
    LoopPass pass = predicted_.pass;
    for (PassRow& row : pass.rows) {
      for (RanTask& ran : row.tasks) {
        const Task& task = predicted_.graph.tasks[ran.task];
        if (task.computes())
          ran.end = ran.start + SimTime{static_cast<std::int64_t>(
                                    static_cast<double>(ran.time().count) * times(task))};
      }
    }
    return pass;
  }

  /// Makes messages so long that devices do nothing else meanwhile.
  void wait_for_messages() {
    links_.node.alpha = 1e6;
    predicted_ = simulated(model_);
  }

  OnDevices model_{4, data_parallel};
  LinkCosts links_ = assumed_link_costs();
  Simulated predicted_;
};

TEST_F(Conditions, AreThoseOfThePredictionIfNothingDiffers) {
  EXPECT_EQ(find(predicted_.pass), (MeasuredConditions{.devices = {1, 1, 1, 1}}));
}

TEST_F(Conditions, NameASlowDevice) {
  OnDevices slow = model_;
  slow.machine.devices[1].slowdown = 2;
  MeasuredConditions found = find(simulated(slow).pass);
  // Some small tasks have a time of their own, which no device changes.
  EXPECT_THAT(found.devices, ElementsAre(1, DoubleNear(2, 0.1), 1, 1));
  EXPECT_NEAR(found.kernels, 1, 0.01);
  Machine machine = with_conditions(model_.machine, found);
  EXPECT_EQ(machine.devices[1].slowdown, found.kernels * found.devices[1]);
  EXPECT_EQ(machine.devices[2].slowdown, found.kernels);
}

TEST_F(Conditions, OfTwoDevicesTheFasterOneIsTypical) {
  LoopPass measured =
      with_kernels([](const Task& task) { return task.device.value % 2 == 0 ? 3.0 : 1.5; });
  EXPECT_THAT(find(measured).devices, ElementsAre(2, 1, 2, 1));
  EXPECT_EQ(find(measured).kernels, 1.5);
}

TEST_F(Conditions, TakeAGeneralErrorForNoSlowDevice) {
  MeasuredConditions found = find(with_kernels([](const Task&) { return 1.5; }));
  EXPECT_THAT(found.devices, Each(1));
  EXPECT_EQ(found.kernels, 1.5);
}

// Device 0 alone updates parameters in some plans; here the kernels of one kind are off.
TEST_F(Conditions, TakeABadlyPredictedKernelForNoSlowDevice) {
  LoopPass measured = with_kernels([&](const Task& task) {
    return kind_of(predicted_.graph, task) == "linear forward" ? 8.0 : 1.0;
  });
  std::erase_if(measured.rows[3].tasks, [&](const RanTask& ran) {
    const Task& task = predicted_.graph.tasks[ran.task];
    return task.computes() && kind_of(predicted_.graph, task) != "linear forward";
  });
  EXPECT_THAT(find(measured).devices, Each(1));
}

TEST_F(Conditions, IgnoreNoise) {
  LoopPass measured =
      with_kernels([](const Task& task) { return task.device.value == 2 ? 1.09 : 1.0; });
  EXPECT_THAT(find(measured).devices, Each(1));
}

TEST_F(Conditions, ScaleMessagesOfOneKindOfLink) {
  wait_for_messages();
  LinkCosts usual = links_;
  links_ = with_conditions(links_, {.devices = {1, 1, 1, 1}, .node = 3});
  EXPECT_EQ(links_.node.alpha, 3 * usual.node.alpha);
  EXPECT_EQ(links_.network, usual.network);
  MeasuredConditions found = find(simulated(model_).pass);
  EXPECT_NEAR(found.node, 3, 0.3);
  EXPECT_EQ(found.network, 1);
  EXPECT_THAT(found.devices, Each(1));
}

TEST_F(Conditions, TakeHiddenMessagesForNoSlowLinks) {
  links_ = with_conditions(links_, {.devices = {1, 1, 1, 1}, .node = 1.5});
  EXPECT_EQ(find(simulated(model_).pass).node, 1);
}

TEST_F(Conditions, DoNotJudgeMessagesToDevicesThatAreNotShown) {
  wait_for_messages();
  links_ = with_conditions(links_, {.devices = {1, 1, 1, 1}, .node = 3});
  LoopPass measured = simulated(model_).pass;
  measured.rows.resize(2);  // those of the first rank
  EXPECT_EQ(find(measured).node, 1);
}

}  // namespace
}  // namespace troika
