// For tests: one linear layer, and lists of devices.
#pragma once

#include <vector>

#include "strategy/strategy.h"

namespace troika {

inline const char* kTinyModel = R"(graph tiny
input x f32[6,3]
parameter fc.weight f32[2,3] zeros
operator fc linear{out=2} (x) [fc.weight] -> fc
)";

inline std::vector<DeviceId> devices(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> ids;
  for (std::size_t index : indices) ids.push_back(DeviceId(index));
  return ids;
}

inline Machine one_device() { return {{{.name = "cpu0"}}}; }

}  // namespace troika
