// What a device really does per second: matrix products and long vectors. The limits that times of
// kernels are held against.
#pragma once

#include <functional>

#include "device/device.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

namespace troika {

/// The spec with flops_per_second and bytes_per_second of kernels that do nothing but that.
/// `answer` gives the candidates of a key of the backend with their times.
DeviceSpec measure_rates(const DeviceSpec& spec, const Backend& backend,
                         const std::function<std::vector<Candidate>(const KernelKey&)>& answer);

/// The same, measured now.
DeviceSpec measure_rates(const DeviceSpec& spec, Device& device, const Backend& backend);

}  // namespace troika
