// Measures how fast the devices of all ranks are, for plans that give faster devices more samples.
#pragma once

#include <vector>

#include "setup/runtime_setup.h"

namespace troika {

/// Returns speeds as multiples of the slowest one, rounded to quarters, so that measurement noise
/// does not make devices of one kind differ.
std::vector<double> relative_speeds(const std::vector<double>& measured);

/// Returns the machine of `setup` with the speed of each device relative to the slowest one,
/// measured now. Collective: all ranks call it and get the same result.
Machine with_measured_speeds(const RuntimeSetup& setup);

}  // namespace troika
