// The measured peak rates of a device: operations per second of matrix products and bytes per
// second of long vectors. Rooflines are drawn with them.
#pragma once

#include <functional>

#include "device/device.h"
#include "kernels/kernel.h"
#include "machine/machine.h"
#include "profile/kernel_timer.h"

namespace troika {

/// Returns the spec with measured flops_per_second and bytes_per_second. `answer` returns the
/// candidates of a key of the backend with their times.
DeviceSpec measure_rates(const DeviceSpec& spec, const Backend& backend,
                         const std::function<std::vector<Candidate>(const KernelKey&)>& answer);

/// As above, with times that are measured now.
DeviceSpec measure_rates(const DeviceSpec& spec, Device& device, const Backend& backend);

/// Bytes per second of long vectors on the timer's device while its neighbours do the same. They
/// take half of the device's memory at most, if it is not 0.
double measure_memory_rate(KernelTimer& timer, const Backend& backend, Bytes memory);

}  // namespace troika
