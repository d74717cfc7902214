// The devices that this computer could be divided into.
#pragma once

#include <cstdint>
#include <vector>

#include "config/run_config.h"
#include "machine/machine.h"

namespace troika {

/// Numbers of devices that divide the usable cores evenly, as far as the run file's batch has
/// samples for them: one device with all cores, up to one device for each core. If the file says
/// how many threads a device has, the divisors of the number of devices that there are cores for.
std::vector<std::int64_t> device_counts_here(const RunConfig& config);

/// Devices of this computer as a run would have them, in one process. They are not started.
Machine machine_here(const KernelsConfig& kernels, const ParallelConfig& parallel);

/// This computer with each of these numbers of devices.
std::vector<Machine> machines_here(const RunConfig& config);

}  // namespace troika
