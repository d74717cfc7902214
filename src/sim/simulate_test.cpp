#include "sim/simulate.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

/// Tasks of 10 ns each, on the devices given.
TaskGraph tasks_on(std::initializer_list<std::size_t> devices) {
  TaskGraph graph{.arena = std::vector<Bytes>(3)};
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

}  // namespace
}  // namespace troika
