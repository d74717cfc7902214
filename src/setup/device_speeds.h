// How fast the devices of all ranks are, measured, for plans that give fast ones more samples.
#pragma once

#include <vector>

#include "setup/runtime_setup.h"

namespace troika {

/// Speeds as multiples of the slowest, in quarters: devices of one kind, whose times differ by
/// chance, are equally fast.
std::vector<double> relative_speeds(const std::vector<double>& measured);

/// The machine with each device's speed, as its rank measures it now relative to the slowest rank.
/// All ranks call it together and get the same.
Machine with_measured_speeds(const RuntimeSetup& setup);

}  // namespace troika
