// How one operator is cut and placed: a grid of factors over its axes, and the device of each tile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace troika {

/// One dimension of the grid that an operator is laid on: a cut along an axis, or replicas.
struct Factor {
  std::string axis;  ///< Empty: replicas, which all compute the same tile.
  std::int64_t degree = 1;
  std::int64_t stride = 1;  ///< Devices between neighbouring coordinates; 0: they share a device.
  /// Relative lengths of the parts (by device speed, for example); empty: nearly equal. At most one
  /// factor of an axis has weights.
  std::vector<double> weights{};

  bool operator==(const Factor&) const = default;
};

/// Tiles are numbered row-major over the axes in the order of the operator's signature, the
/// replicas of a tile next to each other, whatever the order of the factors. Of several factors of
/// one axis the outer one cuts first, and the inner one cuts each part again.
///
/// A split without a list of devices is a view: the device of a tile is
/// first + the sum over the factors of coordinate x stride. Its size does not depend on the number
/// of devices. The default is the whole operator on device 0.
struct Split {
  std::vector<Factor> factors{};  ///< Outermost first.
  std::int64_t first = 0;
  /// Not empty: the device of each tile and replica, in their order; `first` and the strides then
  /// keep their defaults. A device may have several tiles.
  std::vector<DeviceId> devices{};
  /// A recurrent layer runs in so many operators over consecutive time steps (graph/cut_layers.h).
  /// Each is cut like the others, `chunk_stride` devices further than the one before in time. A
  /// list of devices has those of all chunks, one chunk after the other.
  std::int64_t chunks = 1;
  std::int64_t chunk_stride = 0;

  bool operator==(const Split&) const = default;
};

inline bool is_view(const Split& split) { return split.devices.empty(); }

/// The parts along an axis, over all its factors; 1 if no factor has it. Large products saturate.
/// If a degree is below 1, which no feasible split has, the first such degree.
std::int64_t degree_along(const Split& split, std::string_view axis);
std::int64_t degree_along(const std::vector<Factor>& factors, std::string_view axis);
/// The devices that compute each tile; otherwise as degree_along.
std::int64_t replicas_of(const Split& split);
/// The product of the degrees of all axes, without replicas; saturates. Of one chunk.
std::int64_t tile_count(const Split& split);
/// The weights of the factor of this axis that has some; empty without.
std::vector<double> weights_along(const Split& split, std::string_view axis);
bool has_weights(const Split& split);

/// A split with more tiles and replicas is infeasible, so that a wrong digit in a plan does not
/// take all memory.
inline constexpr std::int64_t kMostTiles = 1 << 20;

/// The highest device number; saturates.
std::int64_t largest_device(const Split& split);
/// Each device once, ascending. For a view of more than kMostTiles tiles, which is infeasible, the
/// first and the last.
std::vector<DeviceId> devices_used(const Split& split);

/// The stride that a factor of a plan file has if none is written: the product of the degrees of
/// the factors behind it whose stride is not 0, so that {n: 4, o: 8} is dense and row-major.
std::int64_t dense_stride(const std::vector<Factor>& factors, std::size_t at);

/// Sets every stride to its dense_stride.
std::vector<Factor> dense(std::vector<Factor> factors);

}  // namespace troika
