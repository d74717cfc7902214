#include "setup/plan_kernels.h"

#include <gtest/gtest.h>

#include "ops/activation.h"
#include "setup/hosts.h"

namespace troika {
namespace {

/// 4,000 bytes, which take 1000 ns of a device alone and 2000 ns beside another one.
const KernelKey kKey{Activation{}, {{{500}, DType::f32}}, Phase::forward, {}};
const MemoryRates kRates{{1, 4e9}, {2, 2e9}};

Machine devices_on(std::initializer_list<int> nodes) {
  Machine machine;
  for (int node : nodes) machine.devices.push_back({.kind = "some", .node = node});
  return machine;
}

/// The time of the kernel on a machine, by a cost file that was measured at this occupancy.
SimTime time_on(Machine machine, SimTime timed, Occupancy at) {
  KernelTable given;
  Candidate candidate{.algorithm = "loop", .time = timed, .timing = Timing{.at = at}};
  given.insert({"some", kKey}, {candidate});
  given.of("some").memory_rates = kRates;
  PlanKernels kernels({.given = std::move(given), .measures = false});
  kernels.meet(machine);
  return *kernels.answer({{"some", kKey}})[0][0].time;
}

TEST(PlanKernels, OfACostFileAreThoseBesideTheDevicesOfANode) {
  EXPECT_EQ(time_on(devices_on({0}), {1000}, {1, 1}), SimTime{1000});
  EXPECT_EQ(time_on(devices_on({0, 0}), {1000}, {1, 1}), SimTime{2000});
  EXPECT_EQ(time_on(devices_on({0, 1}), {1000}, {1, 1}), SimTime{1000});
  EXPECT_EQ(time_on(devices_on({0}), {2000}, {2, 2}), SimTime{1000});
}

TEST(PlanKernels, OfACostFileTakeTurnsOnlyWhereTheyDidThen) {
  EXPECT_EQ(time_on(devices_on({0, 0, 0, 0}), {2000}, {2, 2}), SimTime{2000});
  EXPECT_EQ(time_on(devices_on({0, 0, 0, 0}), {4000}, {4, 2}), SimTime{4000});
  EXPECT_EQ(time_on(devices_on({0, 0}), {4000}, {4, 2}), SimTime{2000});
}

/// Whether messages move beside the kernels of so many devices of one thread.
bool moves_beside(int devices, bool is_here) {
  Machine machine;
  machine.devices.assign(as_index(devices), {.kind = "cpu any 1 thread reference"});
  PlanKernels kernels({.measures = false, .is_here = is_here});
  kernels.meet(machine);
  return machine.moves_beside;
}

TEST(PlanKernels, OfThisComputerLeaveCoresForMessagesIfThereAreSome) {
  int cores = usable_threads();
  EXPECT_FALSE(moves_beside(cores, true));
  EXPECT_EQ(moves_beside(1, true), cores > 1);
  EXPECT_FALSE(moves_beside(1, false)) << "cores of another computer are not known";
}

}  // namespace
}  // namespace troika
