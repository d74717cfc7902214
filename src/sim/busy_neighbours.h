// Kernels are timed while all devices of a computer compute. Where devices wait for each other, the
// others have more of the memory and of the cores, and their kernels take less time.
#pragma once

#include <vector>

#include "cost/occupancy.h"
#include "sim/simulate.h"

namespace troika {

/// How many devices of its computer compute while a device does, itself included: the mean over the
/// time in which it computes, by device. 1 for a device that computes nothing. `computers`: by
/// device, the number of its computer.
std::vector<double> busy_neighbours(const TaskGraph& graph, const SteadyLoop& loop,
                                    const std::vector<int>& computers);

/// How the times of a graph's kernels were measured.
struct TimedBeside {
  Occupancy occupancy{};
  MemoryRates rates{};
  std::vector<int> computers{};  ///< By device.
};

/// Simulates the loop twice: with the times of kernels as they were measured, and as they are
/// beside as many busy devices as were found then, which it leaves in the graph.
SteadyLoop simulate_beside(TaskGraph& graph, const TimedBeside& timed);

}  // namespace troika
