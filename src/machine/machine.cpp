#include "machine/machine.h"

#include <algorithm>
#include <cmath>

namespace troika {

SimTime roofline_time(const DeviceSpec& device, Flops flops, Bytes bytes) {
  double seconds = std::max(static_cast<double>(flops.count) / device.flops_per_second,
                            static_cast<double>(bytes.count) / device.bytes_per_second);
  return {std::llround(seconds * 1e9)};
}

}  // namespace troika
