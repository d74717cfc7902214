// For tests: what one device does in a redistribution, as text.
#pragma once

#include <string>

#include "lower/redistribution.h"

namespace troika {

/// What is left out of the text, so that devices that do the same have the same text.
struct TextOrigin {
  std::int32_t device = 0;  ///< Subtracted from devices,
  std::int32_t begin = 0;   ///< and from bounds along the first dimension.
  /// Differences wrap around at these; 0: they do not.
  std::int32_t devices = 0, extent = 0;
};

/// One line per step and per read of the device, such as
///   1 assemble value2[0:6] <- written0[0:4], value1[4:6]
///   0 start written0[0:4] all_reduce of 4 among 0 1
///   read 0 value2[0:6]
/// A number in front is the step's moment; buffers are numbered per device.
std::string describe(const RedistributionRequest& request, const Redistribution& result,
                     std::int32_t device, const TextOrigin& origin = {});

}  // namespace troika
