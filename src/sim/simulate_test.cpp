#include "sim/simulate.h"

#include <gtest/gtest.h>

#include "sim/loop_period.h"

namespace troika {
namespace {

/// Tasks of 10 ns each, on the devices given.
TaskGraph tasks_on(std::initializer_list<std::size_t> devices) {
  TaskGraph graph{.arena = std::vector<Bytes>(4)};
  for (std::size_t device : devices) {
    auto index = static_cast<std::int32_t>(graph.tasks.size());
    graph.tasks.push_back({.id = {0, index}, .device = DeviceId(device), .choice = {.time = {10}}});
  }
  return graph;
}

TEST(Simulate, RunsTasksOfOneDeviceBackToBack) {
  TaskGraph graph = tasks_on({0, 0, 0});
  SteadyLoop loop = simulate_loop(graph);
  EXPECT_EQ(loop.period, SimTime{30});
  EXPECT_EQ(simulate(graph).spans, loop.pass.spans);
  ASSERT_EQ(loop.pass.spans.size(), 3u);
  EXPECT_EQ(loop.pass.length(), SimTime{30});
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(loop.pass.spans[at].task, graph.tasks[at].id);
    EXPECT_EQ(loop.pass.spans[at].start, SimTime{10} * static_cast<std::int64_t>(at));
  }
}

TEST(Simulate, DevicesOverlapUnlessOneWaitsForTheOther) {
  TaskGraph graph = tasks_on({0, 1, 0});
  EXPECT_EQ(simulate(graph).length(), SimTime{20});
  graph.dependencies = {{0, 1, 0}, {1, 2, 0}};
  EXPECT_EQ(simulate(graph).length(), SimTime{30});
}

TEST(SimulateLoop, APipelineOfDevicesTakesAsLongAsItsSlowestUnlessTheFirstWaitsForTheLast) {
  TaskGraph graph = tasks_on({0, 1});
  graph.tasks[1].choice.time = {30};
  graph.dependencies = {{0, 1, 0}};
  EXPECT_EQ(simulate(graph).length(), SimTime{40});
  EXPECT_EQ(simulate_loop(graph).period, SimTime{30}) << "device 0 runs ahead";
  graph.dependencies.push_back({1, 0, 1});
  EXPECT_EQ(simulate_loop(graph).period, SimTime{40});
}

TEST(SimulateLoop, MayRepeatItselfOnlyEveryFewSteps) {
  // A chain over three devices in which two steps may be under way: they start at 0, 10, 30,
  // 40, 60.
  TaskGraph graph = tasks_on({0, 1, 2});
  graph.dependencies = {{0, 1, 0}, {1, 2, 0}, {2, 0, 2}};
  EXPECT_EQ(simulate_loop(graph).period, SimTime{15});
}

/// Adds a chain over `devices` devices of its own, in which so many steps may be under way.
void add_chain(TaskGraph& graph, std::size_t devices, int steps) {
  std::size_t first = graph.tasks.size();
  for (std::size_t at = first; at < first + devices; ++at) {
    graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(at)},
                           .device = DeviceId(graph.arena.size()),
                           .choice = {.time = {10}}});
    graph.arena.emplace_back();
    if (at > first) graph.dependencies.push_back({at - 1, at, 0});
  }
  graph.dependencies.push_back({graph.tasks.size() - 1, first, steps});
}

TEST(SimulateLoop, IsFoundIfItRepeatsEveryEightSteps) {
  TaskGraph graph;
  add_chain(graph, 12, 8);
  SteadyLoop loop = simulate_loop(graph);
  EXPECT_TRUE(loop.repeats);
  EXPECT_EQ(loop.period, SimTime{15});
}

TEST(SimulateLoop, IsTheMeanOfTheLastStepsAndSaysSoIfItRepeatsLessOften) {
  // Steps begin in groups of 5 and of 7, every 20 ns on average: together they repeat after 35.
  TaskGraph graph;
  add_chain(graph, 10, 5);
  add_chain(graph, 14, 7);
  SteadyLoop loop = simulate_loop(graph);
  EXPECT_FALSE(loop.repeats);
  EXPECT_NEAR(static_cast<double>(loop.period.count), 20, 3);
  EXPECT_EQ(find_period(loop_body(graph)).passes, 64);
}

TEST(SimulateLoop, WhatLagsRunsBesideTheNextStep) {
  // first, second (reads w), back (writes g), a message of g, and w updated by it.
  TaskGraph graph = tasks_on({0, 0, 0, 0, 0, 0});
  const TensorSpec number{{1}, DType::f32};
  for (const char* name : {"w", "g"})
    graph.buffers.push_back(
        {.name = name, .spec = number, .device = DeviceId(0u), .persistent = true});
  BufferId w(0u), g(1u);
  graph.tasks[1].uses = {{w, Access::read}};
  graph.tasks[2].uses = {{g, Access::write}};
  graph.tasks[5].uses = {{g, Access::read}, {w, Access::update}};
  for (std::size_t at : {3, 4}) {
    graph.tasks[at].kind = at == 3 ? TaskKind::start : TaskKind::finish;
    graph.tasks[at].choice.time = {};
    graph.tasks[at].communication = CommunicationId(0u);
    graph.tasks[at].uses = {{g, Access::update}};
  }
  graph.communications.push_back({.time = {15}});
  auto ends = [&] {
    graph.dependencies = find_dependencies(graph);
    std::vector<std::int64_t> all;
    for (const Span& span : simulate_loop(graph).pass.spans) all.push_back(span.end.count);
    return all;
  };
  EXPECT_EQ(ends(), (std::vector<std::int64_t>{10, 20, 30, 30, 45, 55}));
  EXPECT_EQ(simulate_loop(graph).period, SimTime{55});
  graph.tasks[4].lag = graph.tasks[5].lag = 1;
  // The message of the step before began 15 before it ends, 10 of them beside `first`.
  EXPECT_EQ(ends(), (std::vector<std::int64_t>{10, 35, 45, 45, 15, 25}));
  EXPECT_EQ(simulate_loop(graph).period, SimTime{45});
  EXPECT_EQ(simulate(graph).length(), SimTime{55}) << "a step alone hides nothing";
}

TEST(SimulateLoop, AForwardThatRunsOnePassLateOverlapsItsDeviceWithTheOther) {
  // Forward on device 0, forward and backward on device 1, backward on device 0.
  TaskGraph graph = tasks_on({0, 1, 0});
  graph.dependencies = {{0, 1, 0}, {1, 2, 0}};
  EXPECT_EQ(simulate_loop(graph).period, SimTime{30}) << "one after the other";
  graph.tasks[1].lag = graph.tasks[2].lag = 1;
  // Device 0 runs forward of a step, then backward of the one before, whose middle has run beside.
  SteadyLoop loop = simulate_loop(graph);
  EXPECT_EQ(loop.period, SimTime{20});
  EXPECT_EQ(loop.pass.spans[0].end, loop.pass.spans[2].start);
  EXPECT_EQ(simulate(graph).length(), SimTime{30}) << "a step alone overlaps with nothing";
  graph.dependencies.push_back({2, 0, 1});
  EXPECT_EQ(simulate_loop(graph).period, SimTime{30}) << "forward waits for the step before";
  graph.dependencies.back().distance = 2;
  EXPECT_EQ(simulate_loop(graph).period, SimTime{20}) << "or for the one before that";
}

TEST(SimulateLoop, StagesLagOneBehindTheOther) {
  TaskGraph graph = tasks_on({0, 1, 2, 3});
  for (std::size_t at = 0; at < 4; ++at) graph.tasks[at].lag = static_cast<int>(at);
  graph.dependencies = {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 0, 4}};
  EXPECT_EQ(simulate_loop(graph).period, SimTime{10}) << "four steps are under way";
  EXPECT_EQ(simulate(graph).length(), SimTime{40});
  graph.dependencies.back().distance = 3;
  EXPECT_EQ(loop_order(graph).front(), 3u) << "it waits for the last stage of the same pass";
  EXPECT_EQ(simulate_loop(graph).period, SimTime{13}) << "three steps take 40";
  graph.dependencies.back().distance = 4;
  graph.tasks[1].choice.time = {30};
  EXPECT_EQ(simulate_loop(graph).period, SimTime{30}) << "of the slowest stage";
}

TEST(SimulateLoop, IsNotSteadyBeforeAllTasksTakePart) {
  TaskGraph graph = tasks_on({0, 1});
  graph.tasks[0].choice.time = {};
  graph.tasks[1].lag = 2;
  EXPECT_EQ(simulate_loop(graph).period, SimTime{10});
}

TEST(SimulateLoop, AMessageOfAStepDoesNotWaitForTheNextOne) {
  // Device 0 computes for 50, then both start a message of 5 that ends in the next pass. In the
  // order of the loop, device 0 starts the next message before device 1 finishes this one.
  TaskGraph graph = tasks_on({0, 0, 1, 0, 1});
  graph.tasks[0].choice.time = {50};
  graph.communications.push_back({.time = {5}});
  for (std::size_t at = 1; at < 5; ++at) {
    Task& task = graph.tasks[at];
    task.kind = at < 3 ? TaskKind::start : TaskKind::finish;
    task.choice.time = {};
    task.communication = CommunicationId(0u);
    task.member = static_cast<int>(task.device.index());
    task.lag = at < 3 ? 0 : 1;
  }
  graph.dependencies = {{3, 0, 1}};  // computes once the message is over
  ASSERT_EQ(loop_order(graph), (std::vector<std::size_t>{3, 0, 1, 4, 2}));
  EXPECT_EQ(simulate_loop(graph).period, SimTime{55});
}

TEST(SimulateLoop, ManyStepsMayBeUnderWay) {
  TaskGraph graph = tasks_on({0, 1});
  graph.tasks[1].lag = 70;
  EXPECT_EQ(simulate_loop(graph).period, SimTime{10});
}

TEST(SimulateLoop, AFinishThatAlsoWaitsForATaskUsesItOnce) {
  // Lane 1 finishes a message of 15 and waits for a task of lane 0 that takes 10.
  TaskGraph graph = tasks_on({0, 1, 1});
  graph.communications.push_back({.time = {15}});
  for (std::size_t at : {1, 2}) {
    graph.tasks[at].kind = at == 1 ? TaskKind::start : TaskKind::finish;
    graph.tasks[at].choice.time = {};
    graph.tasks[at].communication = CommunicationId(0u);
  }
  graph.dependencies = {{0, 2, 0}};
  EXPECT_EQ(simulate(graph).length(), SimTime{15});
  EXPECT_EQ(simulate_loop(graph).period, SimTime{15});
}

}  // namespace
}  // namespace troika
