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
  int node = 0;                    ///< Devices of one node share its memory bus, network and fate.
  int rank = 0;                    ///< The process that drives it.

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
