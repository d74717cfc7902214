// Splits that arrange devices in a grid: the step from "this axis so many ways" to a device for
// every tile.
#pragma once

#include <vector>

#include "strategy/strategy.h"

namespace troika {

/// One dimension of a grid of devices, outermost first: the axis that is cut along it, or none for
/// replicas.
struct GridFactor {
  static constexpr int kReplicas = -1;
  int axis = kReplicas;
  std::int64_t degree = 1;
};

/// What all operators of a ready strategy are laid on.
struct DeviceGrid {
  std::vector<DeviceId> devices;  ///< Row-major over the factors.
  std::int64_t shard = 1;         ///< Samples that statistics are taken over, in any operator.
};

/// The grid of the devices 0, 1, … of a machine.
DeviceGrid first_devices(const Graph& graph, std::int64_t count);

/// Factors for `degree` devices, taken along these axes as far as their extents go, the first one
/// first; a degree that does not fit leaves a divisor of it, and what remains are replicas. `taken`
/// is what is cut already.
std::vector<GridFactor> spend(const Signature& signature, std::vector<GridFactor> taken,
                              std::int64_t degree, const std::vector<int>& axes);

/// The split with these factors, whose degrees multiply to the number of devices. Parts along the
/// samples hold whole shards, or lie inside one, by weights where equal parts would not.
Split split_on(const DeviceGrid& grid, const Signature& signature,
               const std::vector<GridFactor>& factors);

/// Lengths of `parts` parts of `extent` samples in shards of `shard`, as equal as can be.
std::vector<std::int64_t> shard_lengths(std::int64_t extent, std::int64_t shard,
                                        std::int64_t parts);

}  // namespace troika
