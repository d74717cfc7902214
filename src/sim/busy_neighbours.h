// Kernels are timed while all devices of a computer compute. Where devices wait for each other, the
// others have more of the memory and of the cores, and their kernels take less time.
#pragma once

#include <map>
#include <vector>

#include "cost/occupancy.h"
#include "sim/simulate.h"

namespace troika {

/// Where the lanes of a simulation are: devices, or classes of devices.
struct LaneComputers {
  /// By computer: how many of its devices each of its lanes stands for.
  std::vector<std::map<std::int32_t, double>> lanes{};
  std::vector<std::int32_t> of_lane{};  ///< By lane: the computer of its first device.
};

/// `computers`: by device, the number of its computer.
LaneComputers lane_computers(const std::vector<int>& computers);
LaneComputers lane_computers(const std::vector<int>& computers, const Classes& classes);

/// The time in which a lane computes.
struct BusyTime {
  std::int32_t lane = 0;
  SimTime start{}, end{};
};

/// How many devices of its computer compute while a device does, itself included: the mean over the
/// time in which it computes, by lane. 1 for a lane that computes nothing.
std::vector<double> busy_neighbours(const std::vector<BusyTime>& times, SimTime period,
                                    const LaneComputers& computers);

/// How the times of a graph's kernels were measured.
struct TimedBeside {
  Occupancy occupancy{};
  MemoryRates rates{};
  std::vector<int> computers{};  ///< By device.
};

/// Simulates the loop, changes the times of the graph's kernels to those beside as many busy devices
/// as there are then, and simulates it again.
SteadyLoop simulate_beside(TaskGraph& graph, const TimedBeside& timed);
/// The same of a folded graph and of a graph of the first device of each class, among others.
SteadyLoop simulate_beside(FoldedGraph& graph, TaskGraph& tasks, const TimedBeside& timed);

}  // namespace troika
