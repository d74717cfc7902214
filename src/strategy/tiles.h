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

/// In the order of Split::devices. The batch is first cut into micro-batches along "n", where there
/// is such an axis of samples, and then by the split.
std::vector<Tile> tiles_of(const Signature& signature, const Split& split, MicroBatch micro_batch);

/// The split of the operator, or the whole on device 0.
const Split& split_of(const Strategy& strategy, const std::string& op);

/// Parts of a range with lengths in proportion to the weights, rounded so that they add up; nearly
/// equal ones without weights.
std::vector<Range> cut(Range whole, std::int64_t parts, const std::vector<double>& weights);

}  // namespace troika
