#include "sim/busy_neighbours.h"

#include <gtest/gtest.h>

#include "ops/activation.h"

namespace troika {
namespace {

constexpr std::int64_t kAlone = 1000;

/// Kernels of 4,000 bytes, which take 1000 ns alone and 2000 ns beside another device.
struct Devices {
  explicit Devices(std::size_t count) { graph.arena.resize(count); }

  void compute(std::size_t device, std::int64_t time) {
    graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(graph.tasks.size())},
                           .device = DeviceId(device),
                           .key = {Activation{}, {{{500}, DType::f32}}, Phase::forward, {}},
                           .choice = {.time = {time}}});
  }
  SteadyLoop loop(const std::vector<std::pair<std::int64_t, std::int64_t>>& spans,
                  std::int64_t period) const {
    SteadyLoop made{.period = {period}};
    for (std::size_t at = 0; at < spans.size(); ++at)
      made.pass.spans.push_back(
          {graph.tasks[at].id, graph.tasks[at].device, {spans[at].first}, {spans[at].second}});
    return made;
  }

  /// Beside how many devices each one computes.
  std::vector<double> busy(const SteadyLoop& loop, const std::vector<int>& computers) const {
    std::vector<BusyTime> times;
    for (const Span& span : loop.pass.spans)
      times.push_back({span.device.value, span.start, span.end});
    return busy_neighbours(times, loop.period, lane_computers(computers));
  }

  TaskGraph graph;
};

TEST(BusyNeighbours, AreCountedWhileADeviceComputes) {
  Devices two(2);
  two.compute(0, 0), two.compute(0, 0), two.compute(1, 0);
  // Device 0 computes for 40, for 10 of them beside device 1, which computes for 20.
  SteadyLoop loop = two.loop({{0, 30}, {50, 60}, {20, 40}}, 100);
  EXPECT_EQ(two.busy(loop, {0, 0}), (std::vector{1.25, 1.5}));
  EXPECT_EQ(two.busy(loop, {0, 1}), (std::vector{1.0, 1.0}));
}

TEST(BusyNeighbours, AreThoseOfTheNextPassToo) {
  Devices two(2);
  two.compute(0, 0), two.compute(1, 0);
  // Device 1 is one pass ahead: 110 to 140 is 10 to 40 of this one. The first task wraps around.
  EXPECT_EQ(two.busy(two.loop({{80, 120}, {110, 140}}, 100), {0, 0}),
            (std::vector{1.25, 1 + 1.0 / 3}));
}

TEST(BusyNeighbours, AreNoneOfADeviceThatComputesNothing) {
  Devices two(2);
  two.compute(0, 0);
  EXPECT_EQ(two.busy(two.loop({{0, 100}}, 100), {0, 0}), (std::vector{1.0, 1.0}));
}

TEST(BusyNeighbours, OfAClassAreCountedOnTheComputerOfItsFirstDevice) {
  // Devices 0, 1 and 4 are of one class, 2, 3 and 5 of another; the last two share a computer.
  Classes classes{.of_device = {0, 0, 1, 1, 0, 1}, .first = {0, 2}, .size = {3, 3}};
  LaneComputers computers = lane_computers({0, 0, 0, 0, 1, 1}, classes);
  // Class 0 computes for 40, half of it beside class 1.
  EXPECT_EQ(busy_neighbours({{0, {0}, {40}}, {1, {20}, {40}}}, {100}, computers),
            (std::vector{3.0, 4.0}));
}

/// Bytes of a kernel at 4 bytes per ns alone, 2 beside another one.
TimedBeside timed(const std::vector<int>& computers) {
  return {.occupancy = {2, 2}, .rates = {{1, 4e9}, {2, 2e9}}, .computers = computers};
}

TEST(SimulateBeside, KeepsTimesWhereAllDevicesAreAlwaysBusy) {
  Devices two(2);
  two.compute(0, 2 * kAlone), two.compute(1, 2 * kAlone);
  TaskGraph before = two.graph;
  EXPECT_EQ(simulate_beside(two.graph, timed({0, 0})).period, SimTime{2 * kAlone});
  EXPECT_EQ(two.graph.tasks, before.tasks);
}

TEST(SimulateBeside, ShortensKernelsOfADeviceThatComputesAlone) {
  Devices two(2);
  two.compute(0, 2 * kAlone);
  EXPECT_EQ(simulate_beside(two.graph, timed({0, 0})).period, SimTime{kAlone});
}

}  // namespace
}  // namespace troika
