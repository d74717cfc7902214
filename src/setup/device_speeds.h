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

/// The same with speeds that are measured now. Collective: all ranks call it and get the same
/// result.
Machine with_measured_speeds(const RuntimeSetup& setup);

}  // namespace troika
