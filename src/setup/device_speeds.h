// Measures how fast the devices of all ranks are, for plans that give faster devices more samples.
#pragma once

#include <vector>

#include "setup/runtime_setup.h"

namespace troika {

/// Returns speeds as multiples of the slowest one, rounded to quarters, so that measurement noise
/// does not make devices of one kind differ.
std::vector<double> relative_speeds(const std::vector<double>& measured);

/// Returns the machine with the slowdown of each device, from the speeds of the ranks. It is 1 on
/// the first rank, which times the kernels of all.
Machine with_speeds(Machine machine, const std::vector<double>& speeds);

/// The same, but only if some rank is at most two thirds as fast as the fastest, as under a CPU
/// quota. Smaller differences may be noise; plans with equal tiles take them for none.
Machine with_slow_ranks(Machine machine, const std::vector<double>& speeds);

/// Returns the relative speeds of the ranks, measured now. Collective: all ranks call it and get
/// the same result.
std::vector<double> measure_speeds(const RuntimeSetup& setup);

}  // namespace troika
