// Updates that wait for messages run beside the next step.
#include <gtest/gtest.h>

#include "base/error.h"
#include "lower/carried_updates.h"
#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/lifetimes.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

/// The small model under a strategy of two devices, one message per gradient.
struct OnTwoDevices : Lowered {
  explicit OnTwoDevices(const char* plan, bool sliced = false) {
    machine.devices.resize(2);
    strategy = plan == std::string("tensor") ? tensor_parallel(graph, machine)
                                             : data_parallel(graph, machine);
    strategy.sync.bucket = {1};
    strategy.sync.sliced_update = sliced;
  }
};

bool conflict(const TaskGraph& graph, std::size_t a, std::size_t b) {
  for (const BufferUse& one : graph.tasks[a].uses)
    for (const BufferUse& other : graph.tasks[b].uses)
      if (graph.root(one.buffer) == graph.root(other.buffer) &&
          (one.access != Access::read || other.access != Access::read))
        return true;
  return false;
}

struct StepTask {
  std::size_t step, task;
};

/// What a loop of so many steps runs, in its order.
std::vector<StepTask> unrolled(const TaskGraph& graph, std::size_t steps) {
  std::vector<StepTask> all;
  for (std::size_t pass = 0; pass <= steps; ++pass) {
    for (std::size_t task : loop_order(graph)) {
      std::size_t step = pass - static_cast<std::size_t>(graph.tasks[task].lag);
      if (step < steps) all.push_back({step, task});
    }
  }
  return all;
}

std::size_t place_in_loop(const TaskGraph& graph, const std::string& task) {
  std::vector<std::size_t> order = loop_order(graph);
  auto found = std::ranges::find(order, task, [&](std::size_t at) { return graph.tasks[at].name; });
  return static_cast<std::size_t>(found - order.begin());
}

TEST(CarryUpdates, UpdatesOfSummedGradientsAreCarriedAndTheGuardIsNot) {
  TaskGraph graph = OnTwoDevices("data").run();
  for (const Task& task : graph.tasks) {
    bool is_update = task.key.phase == Phase::update && !std::holds_alternative<Guard>(task.key.op);
    if (!task.computes()) continue;
    EXPECT_EQ(task.lag, is_update ? 1 : 0) << task.name;
  }
}

/// By parameter: why its update is not carried, or "carried".
std::map<std::string, std::string> reasons(Lowered& lowered) {
  std::map<std::string, std::string> found;
  for (const CarriedUpdate& update : carried_updates(lowered.request()))
    found[update.parameter] = update.why_not.value_or("carried");
  return found;
}

TEST(CarryUpdates, OneParameterThatIsNotCarriedLeavesTheOthersAsTheyAre) {
  OnTwoDevices lowered("data");
  lowered.strategy.splits.erase("b");
  std::map<std::string, std::string> expected{{"a.bias", "carried"},
                                              {"a.weight", "carried"},
                                              {"b.weight", "no message brings the gradient"}};
  EXPECT_EQ(reasons(lowered), expected);
  for (const Task& task : lowered.run().tasks) {
    if (task.key.phase != Phase::update || std::holds_alternative<Guard>(task.key.op)) continue;
    EXPECT_EQ(task.lag, task.name == "b.weight update" ? 0 : 1) << task.name;
  }
}

TEST(CarryUpdates, TheStrategyMayTurnItOff) {
  OnTwoDevices off("data"), alone("data"), clipped("data");
  off.strategy.sync.carry_updates = false;
  alone.strategy.sync.overlap = false;
  clipped.optimizer.clip_norm = 1;
  EXPECT_EQ(reasons(off).at("a.bias"), "'carry_updates' is off");
  EXPECT_EQ(reasons(alone).at("a.bias"), "'overlap' is off");
  EXPECT_EQ(reasons(clipped).at("a.bias"), "carried");
  EXPECT_EQ(largest_lag(clipped.run()), 1);
}

TEST(CarryUpdates, EachRunsRightBeforeItsWeightIsRead) {
  TaskGraph graph = OnTwoDevices("data").run();
  EXPECT_LT(place_in_loop(graph, "a.weight update"), place_in_loop(graph, "a forward/0"));
  EXPECT_LT(place_in_loop(graph, "a forward/0"), place_in_loop(graph, "b.weight update"));
  EXPECT_LT(place_in_loop(graph, "b.weight update"), place_in_loop(graph, "b forward/0"));
}

TEST(CarryUpdates, ALoopRunsConflictingTasksInTheOrderOfTheList) {
  for (const char* plan : {"data", "tensor"}) {
    for (bool sliced : {false, true}) {
      TaskGraph graph = OnTwoDevices(plan, sliced).run();
      std::vector<StepTask> loop = unrolled(graph, 3);
      ASSERT_EQ(loop.size(), 3 * graph.tasks.size());
      for (std::size_t late = 0; late < loop.size(); ++late)
        for (std::size_t early = 0; early < late; ++early) {
          auto [step, task] = loop[early];
          auto [later_step, later_task] = loop[late];
          bool in_order = std::pair(step, task) < std::pair(later_step, later_task);
          EXPECT_TRUE(in_order || !conflict(graph, task, later_task))
              << graph.tasks[task].name << " of step " << step << " before "
              << graph.tasks[later_task].name << " of step " << later_step;
        }
    }
  }
}

TEST(CarryUpdates, TheyReadScalarsOfTheirOwnStep) {
  TaskGraph graph = OnTwoDevices("data").run();
  int read = 0;
  for (const Task& task : graph.tasks)
    for (const BufferUse& use : task.uses) {
      const std::string& name = graph[use.buffer].name;
      EXPECT_FALSE(name.starts_with("step.scalars@") && task.lag == 1) << task.name;
      EXPECT_FALSE(name.starts_with("step.scalars_of_lag_1@") && task.lag == 0) << task.name;
      read += name.starts_with("step.scalars_of_lag_1@");
    }
  EXPECT_GT(read, 0);
}

TEST(CarryUpdates, WhatTheyReadKeepsItsMemoryThroughTheWholeStep) {
  TaskGraph graph = OnTwoDevices("data").run();
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  int gradients = 0;
  for (const Task& task : graph.tasks) {
    if (task.lag == 0) continue;
    for (const BufferUse& use : task.uses) {
      const Lifetime& life = lifetimes[graph.root(use.buffer).index()];
      EXPECT_EQ(life.first, 0u);
      EXPECT_EQ(life.last, graph.tasks.size() - 1);
      gradients += graph[use.buffer].category == Category::gradient;
    }
  }
  EXPECT_GT(gradients, 0);
}

TEST(CarryUpdates, NothingIsCarriedOnOneDeviceOrWhereTheStrategySaysSo) {
  OnTwoDevices off("data");
  off.strategy.sync.carry_updates = false;
  for (const TaskGraph& graph : {Lowered().run(), off.run()}) EXPECT_EQ(largest_lag(graph), 0);
}

TEST(CarryUpdates, TheVerifierRefusesATaskBehindACarriedOneThatItConflictsWith) {
  TaskGraph graph = OnTwoDevices("data").run();
  auto first = std::ranges::find(graph.tasks, 1, &Task::lag);
  std::ranges::find(graph.tasks, "b.weight update", &Task::name)->lag = 0;
  ASSERT_NE(first, graph.tasks.end());
  EXPECT_THROW(verify(graph, Stage::placed), Bug);
}

}  // namespace
}  // namespace troika
