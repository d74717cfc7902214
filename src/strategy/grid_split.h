// Splits that arrange devices in a grid: the step from "this axis so many ways" to a device for
// every tile.
#pragma once

#include <vector>

#include "strategy/tiles.h"

namespace troika {

/// The devices that all operators of a ready strategy are laid on.
struct DeviceGrid {
  std::int64_t count = 1;
  std::int64_t shard = 1;         ///< Samples that statistics are taken over, in any operator.
  std::vector<DeviceId> order{};  ///< Not empty: the devices in another order than 0, 1, …
};

/// The grid of the devices 0, 1, … of a machine.
DeviceGrid first_devices(const Graph& graph, std::int64_t count);

/// The samples that statistics are taken over, in any operator; 1 without such.
std::int64_t largest_shard(const Graph& graph);

/// Factors for `degree` devices, taken along these axes as far as their extents go, the first one
/// first; a degree that does not fit leaves a divisor of it, and what remains are replicas. `taken`
/// is what is cut already, outside of it.
std::vector<Factor> spend(const Signature& signature, std::vector<Factor> taken,
                          std::int64_t degree, const std::vector<int>& axes);

/// The split with these factors, whose degrees multiply to the number of devices, dense and
/// row-major over them. Parts along the samples hold whole shards, or lie inside one, by weights
/// where equal parts would not.
Split split_on(const DeviceGrid& grid, const Signature& signature, std::vector<Factor> factors);

/// Gives the parts along an axis these relative lengths. Several factors of the axis become one; if
/// its parts are not equally far apart, the split gets a list of devices.
void set_weights(Split& split, const Signature& signature, const std::string& axis,
                 std::vector<double> weights);

/// Lengths of `parts` parts of `extent` samples in shards of `shard`, as equal as can be.
std::vector<std::int64_t> shard_lengths(std::int64_t extent, std::int64_t shard,
                                        std::int64_t parts);

}  // namespace troika
