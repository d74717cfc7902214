// What a device really does per second: matrix products and long vectors, measured in a few
// hundredths of a second.
#pragma once

#include "device/device.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

namespace troika {

/// The spec with flops_per_second and bytes_per_second measured: the best of several short runs of
/// the backend's own kernels.
DeviceSpec measure_rates(Device& device, const Backend& backend, DeviceSpec spec);

}  // namespace troika
