// Splits as small integers: tiles on devices, parts of axes and kinds of tiles, each kept once
// however many operators have them. Data parallelism over thousands of devices is a handful of
// tables, so everything that costs time per device is done once per table, not once per operator.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "lower/table_key.h"
#include "ops/op.h"
#include "strategy/tiles.h"

namespace troika {

/// How a tile's number gives its part along an axis: (number / stride) % count.
struct AxisDigit {
  std::int32_t stride = 1;
  std::int32_t count = 1;

  bool operator==(const AxisDigit&) const = default;
};

/// The devices of an operator's tiles, or of those of one phase. Operators with different axes
/// have the same set if their tiles are on the same devices, in the same order.
struct TileSet {
  std::vector<std::int32_t> device;  ///< By tile: row-major over the axes, replicas innermost.
  /// By tile: its number in the operator's own set. Empty: the same number. A phase leaves out
  /// tiles that would repeat work on their device.
  std::vector<std::int32_t> source;
  /// The tiles of device d are tiles[first[d]] to tiles[first[d + 1]], in their order.
  std::vector<std::int32_t> first, tiles;

  std::int32_t count() const { return static_cast<std::int32_t>(device.size()); }
  /// The part of a tile along an axis.
  std::int32_t part(std::int32_t tile, AxisDigit digit) const {
    if (!source.empty()) tile = source[as_index(tile)];
    return tile / digit.stride % digit.count;
  }
};

/// The ranges that an axis, or a tensor's dimension, is cut into.
using Ranges = std::vector<Range>;

/// Index of a table. 0 stands for the simplest one where a comment says so.
using TileSetId = std::int32_t;  ///< 0: no tiles.
using RangesId = std::int32_t;   ///< 0: the whole, in one part.
using KindsId = std::int32_t;    ///< 0: all parts, or tiles, are of one kind.

/// An operator under its split, on one micro-batch. All micro-batches are alike but for a shift.
struct OperatorTiles {
  TileSetId set = 0;
  int sample_axis = -1;  ///< The axis along which micro-batches are cut, or -1.
  std::int64_t micro_batches = 1;
  std::vector<std::int64_t> extents;  ///< Of the axes, in a micro-batch.
  std::vector<AxisDigit> digits;      ///< By axis.
  std::vector<RangesId> parts;        ///< By axis.
  std::vector<KindsId> kinds;         ///< By axis: of its parts.
  bool staged = false;                ///< A tile cuts what a plain phase needs whole.

  bool operator==(const OperatorTiles&) const = default;
};

/// How tiles cut a dimension of a tensor: which digit of their number says the part, and its range.
struct DimCut {
  AxisDigit digit{};
  RangesId ranges = 0;

  bool operator==(const DimCut&) const = default;
};

/// Grows with what is asked; results stay valid as long as it lives. Not thread-safe.
class TileTables {
 public:
  explicit TileTables(std::size_t devices);

  struct SplitOperator {
    const Op& op;
    const Signature& signature;
    const Split& split;
  };
  OperatorTiles tiles_of(const SplitOperator& subject, std::int64_t micro_batches);
  /// The operator's tiles without those that differ from an earlier one on the same device only in
  /// axes that the phase does not run along.
  TileSetId tiles_of_phase(const OperatorTiles& tiles, const std::vector<bool>& runs_along);
  /// By dimension of the slot.
  std::vector<DimCut> cuts_of(const Slot& slot, const OperatorTiles& tiles);
  /// Places without axes.
  TileSetId listed_set(const std::vector<std::int32_t>& devices);
  RangesId ranges_id(const Ranges& ranges, std::int64_t extent);
  /// Whether neighbouring parts have elements in common.
  bool overlap(RangesId id) const;
  /// How many tiles of a set have the same parts along these axes as this one.
  std::int64_t copies_of(TileSetId id, const std::vector<AxisDigit>& axes, std::int32_t tile) const;
  /// No device has more than one tile.
  bool is_once_per_device(TileSetId id) const;
  /// The kind of each tile of a set, numbered in the order in which they first occur.
  KindsId kinds_of(TileSetId set, const OperatorTiles& tiles);
  /// Tiles whose cuts are equally long.
  KindsId kinds_of_extents(TileSetId set, const std::vector<DimCut>& cuts);
  /// Tiles on devices of one kind. `device_kinds`: by device.
  KindsId kinds_of_devices(TileSetId set, const std::vector<std::int32_t>& device_kinds);
  /// Tiles that are of one kind in each of these.
  KindsId joined_kinds(const std::vector<KindsId>& all);
  /// By kind: the first tile that is of it.
  std::vector<std::int32_t> first_of_kinds(TileSetId set, KindsId kinds) const;

  const TileSet& set(TileSetId id) const { return *sets_[index(id)]; }
  const Ranges& ranges(RangesId id) const { return *ranges_[index(id)]; }
  /// Empty for id 0: all are of kind 0.
  const std::vector<std::int32_t>& kinds(KindsId id) const { return *kinds_[index(id)]; }
  std::int32_t kind(KindsId id, std::int32_t tile) const {
    return id == 0 ? 0 : kinds(id)[as_index(tile)];
  }
  std::int32_t kind_count(KindsId id) const;
  std::size_t devices() const { return devices_; }

 private:
  using Numbers = std::unordered_map<TableKey, std::int32_t, TableKeyHash>;
  static std::size_t index(std::int32_t id) { return as_index(id); }

  TileSetId add_set(TileSet set);
  RangesId projected(RangesId parts, const DimMap& map, std::int64_t axis_extent,
                     std::int64_t extent);
  KindsId part_kinds(RangesId parts, std::size_t axis, const SplitOperator& subject);
  KindsId kinds_id(const std::vector<std::int64_t>& values);

  std::size_t devices_;
  std::vector<std::unique_ptr<const TileSet>> sets_;
  std::vector<std::unique_ptr<const Ranges>> ranges_;
  std::vector<std::unique_ptr<const std::vector<std::int32_t>>> kinds_;
  Numbers set_ids_, phase_ids_, range_ids_, projected_ids_;
  Numbers kind_ids_, part_kind_ids_, tile_kind_ids_;
  /// By set and axes: by tile.
  mutable std::unordered_map<TableKey, std::vector<std::int64_t>, TableKeyHash> copies_;
};

}  // namespace troika
