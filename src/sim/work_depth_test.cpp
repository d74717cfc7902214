#include "sim/work_depth.h"

#include <gtest/gtest.h>

#include <array>

#include "sim/simulate.h"

namespace troika {
namespace {

/// Tasks of 1 ns in levels, each of which waits for all of the level before; dealt out to devices.
TaskGraph levels(std::span<const std::size_t> sizes, std::size_t devices) {
  TaskGraph graph{.arena = std::vector<Bytes>(devices)};
  std::size_t before = 0, here = 0;
  for (std::size_t size : sizes) {
    for (std::size_t at = 0; at < size; ++at) {
      for (std::size_t from = before; from < here; ++from)
        graph.dependencies.push_back({from, graph.tasks.size(), 0});
      graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(graph.tasks.size())},
                             .device = DeviceId(at % devices),
                             .choice = {.time = {1}}});
    }
    before = here;
    here = graph.tasks.size();
  }
  return graph;
}

constexpr std::array<std::size_t, 7> kLevels{1, 8, 8, 8, 8, 5, 1};

TEST(WorkDepth, OfLevelsAreTheirTasksAndTheirNumber) {
  EXPECT_EQ(work_depth(levels(kLevels, 3)), (WorkDepth{{39}, {7}}));
}

TEST(WorkDepth, BoundTheTimeOfAStepOnAnyNumberOfDevices) {
  for (std::size_t devices : {1, 2, 3, 4, 8, 16}) {
    TaskGraph graph = levels(kLevels, devices);
    SimTime step = simulate(graph).length();
    EXPECT_GE(step, SimTime{7});
    EXPECT_GE(step.count * static_cast<std::int64_t>(devices), 39);
    // A level of n tasks takes n / P, rounded up.
    std::int64_t expected = 0;
    for (std::size_t size : kLevels)
      expected += static_cast<std::int64_t>((size + devices - 1) / devices);
    EXPECT_EQ(step.count, expected) << devices;
  }
}

TEST(WorkDepth, AMessageDelaysWhatWaitsForIt) {
  TaskGraph graph{.arena = std::vector<Bytes>(2)};
  graph.communications.push_back({.time = {5}});
  auto add = [&](std::size_t device, TaskKind kind, std::int64_t time) {
    graph.tasks.push_back({.device = DeviceId(device),
                           .choice = {.time = {time}},
                           .kind = kind,
                           .communication = CommunicationId(0u)});
  };
  add(0, TaskKind::compute, 10);
  add(0, TaskKind::start, 0);
  add(1, TaskKind::start, 0);
  add(1, TaskKind::finish, 0);
  add(1, TaskKind::compute, 3);
  add(1, TaskKind::compute, 4);  // waits for nothing
  graph.dependencies = {{0, 1, 0}, {2, 3, 0}, {3, 4, 0}, {0, 4, 1}};
  EXPECT_EQ(work_depth(graph), (WorkDepth{{17}, {18}}));
}

/// Three tasks of 2, 3 and 10 ns on a device of their own each.
TaskGraph three_tasks() {
  TaskGraph graph{.arena = std::vector<Bytes>(3)};
  for (std::int64_t time : {2, 3, 10})
    graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(graph.tasks.size())},
                           .device = DeviceId(graph.tasks.size()),
                           .choice = {.time = {time}}});
  return graph;
}

TEST(HeaviestCycle, CountsTheStepsThatItGoesBack) {
  TaskGraph graph = three_tasks();
  graph.dependencies = {{0, 1, 0}, {1, 0, 1}, {1, 2, 0}};
  EXPECT_EQ(heaviest_cycle(graph), SimTime{5});  // the third task is at the end of a chain
  graph.dependencies.push_back({2, 0, 2});
  EXPECT_EQ(heaviest_cycle(graph), SimTime{7});  // 15 ns in two steps
  graph.dependencies.push_back({2, 2, 1});
  EXPECT_EQ(heaviest_cycle(graph), SimTime{10});
}

TEST(HeaviestCycle, OfStepsThatNeedNothingFromEachOtherIsNothing) {
  TaskGraph graph = three_tasks();
  graph.dependencies = {{0, 1, 0}, {1, 2, 0}};
  EXPECT_EQ(heaviest_cycle(graph), SimTime{});
}

}  // namespace
}  // namespace troika
