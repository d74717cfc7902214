// What a device really does per second: matrix products and long vectors. The limits that times of
// kernels are held against.
#pragma once

#include <functional>

#include "cost/kernel_table.h"
#include "machine/machine.h"

namespace troika {

enum class RateSize { full, small };  ///< Small for the reference kernels, a thousand times slower.

/// The spec with flops_per_second and bytes_per_second of kernels that do nothing but that.
/// `answer` gives the candidates of a key with their times.
DeviceSpec measure_rates(DeviceSpec spec, RateSize size,
                         const std::function<std::vector<Candidate>(const KernelKey&)>& answer);

}  // namespace troika
