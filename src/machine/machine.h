// The devices of a cluster, as data: what planning knows of hardware it may not have.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace troika {

using DeviceId = Id<struct DeviceTag>;

struct DeviceSpec {
  std::string name;
  std::string kind;  ///< Backend, instruction set, threads, library: what kernel times depend on.
  Bytes memory{};
  double flops_per_second = 1e11;  ///< Matrix products.
  double bytes_per_second = 1e10;  ///< Reads and writes of long vectors.
  std::int32_t node = 0;           ///< The computer it is in,
  std::int32_t rank = 0;           ///< and the process that drives it.

  bool operator==(const DeviceSpec&) const = default;
};

struct Machine {
  std::vector<DeviceSpec> devices;

  const DeviceSpec& operator[](DeviceId id) const { return devices[id.index()]; }
  bool operator==(const Machine&) const = default;
};

/// The time that a device needs at least for so much arithmetic and memory traffic (the roofline).
SimTime roofline_time(const DeviceSpec& device, Flops flops, Bytes bytes);

}  // namespace troika
