// The tiles of a split operator: boxes in its iteration space, with their devices
// (docs/design.md, Axes).
#pragma once

#include <string_view>
#include <vector>

#include "ops/signature.h"
#include "strategy/strategy.h"

namespace troika {

/// A box of the iteration space on a device; replicas of a tile are equal boxes on several.
struct Tile {
  Region box;
  std::vector<std::int64_t> part;  ///< Its place along each axis.
  DeviceId device;

  bool operator==(const Tile&) const = default;
};

/// Part `part` of `parts` consecutive micro-batches: where in the batch.
struct MicroBatch {
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

/// All tiles of a split without a heap block for each: a tile is a product of parts. Tile t has the
/// replicas device[t * replicas] to device[(t + 1) * replicas - 1].
struct TileMap {
  std::vector<std::vector<Range>> parts;  ///< By axis of the signature.
  std::vector<std::int32_t> device;       ///< Tiles row-major over the axes, replicas innermost.
  std::int64_t replicas = 1;
};

/// For a feasible split. The batch is first cut into micro-batches along "n", where there
/// is such an axis of samples, and then by the split.
TileMap map_tiles(const Signature& signature, const Split& split, MicroBatch micro_batch);

/// The same, each tile on its own.
std::vector<Tile> tiles_of(const Signature& signature, const Split& split, MicroBatch micro_batch);

/// The device of each tile and replica, as Split::devices lists them.
std::vector<DeviceId> devices_of(const Signature& signature, const Split& split);

/// The ranges that an axis is cut into, by the factors that have it.
std::vector<Range> parts_along(const Axis& axis, const Split& split, MicroBatch micro_batch);

/// The split of the operator, or the whole on device 0.
const Split& split_of(const Strategy& strategy, const std::string& op);

/// Parts of a range with lengths in proportion to the weights, rounded so that they add up; nearly
/// equal ones without weights.
std::vector<Range> cut(Range whole, std::int64_t parts, const std::vector<double>& weights);

}  // namespace troika
