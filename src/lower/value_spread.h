// Where the parts of a value are: written by some tiles, read by others, and redistributed in
// between. Values whose splits are equal share one redistribution.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lower/redistribution.h"
#include "lower/tile_tables.h"
#include "machine/machine.h"

namespace troika {

/// Tiles that write or read a value.
struct Participant {
  TileSetId set = 0;
  std::vector<DimCut> cuts;  ///< By dimension of the value.
  /// Axes along which tiles write different terms of a sum. Writers only.
  std::vector<AxisDigit> partial_axes{};
  bool shared = false;  ///< As in Contribution.

  bool operator==(const Participant&) const = default;
};

struct SpreadRequest {
  Shape shape;  ///< Of a micro-batch.
  std::vector<Participant> writers, readers;
  bool greatest = false;
  bool fixed_order = false;
  bool merge_each = false;
};

/// A redistribution with indexes into it. Buffers and steps of a device are numbered from 0 in
/// their order.
struct Moves : Redistribution {
  Moves(const RedistributionRequest& request, const Neighbourhood& where);

  std::size_t contributions;  ///< Of the request.

  /// Those of device d begin at [d] and end at [d + 1].
  std::vector<std::int32_t> first_buffer, first_step;
  /// By buffer: the step that fills it in, or -1; the message that changes it, or -1, and which
  /// member of that it is.
  std::vector<std::int32_t> maker, message, member;
  /// By member of the messages, as in `members`: the step of its device that starts it, counted
  /// from the device's first one. It tells the parts of a device in messages apart.
  std::vector<std::int32_t> part;
  /// By step: greater than those of all steps that it waits for, wherever they are. Starts of a
  /// message have one level on all members, and so have its finishes.
  std::vector<std::int32_t> level;
  /// By contribution: messages add up what its tiles wrote, or sums of it, as it lies.
  std::vector<bool> reduces_written;
  bool assembles = false;  ///< Some step takes boxes out of buffers.

  bool operator==(const Moves&) const = default;

 private:
  void note_reduced(std::int32_t buffer);
  void find_levels();
};

/// How a value gets from its writers to its readers.
struct ValueSpread {
  /// Null: each tile reads what the tile of the same number wrote, or the host writes.
  const Moves* moves = nullptr;
  TileSetId set = 0;           ///< Without moves: of the writer and all readers,
  std::vector<DimCut> cuts{};  ///< and how these cut the value.
  std::vector<int> frame;      ///< Dimensions of the value that are in the frame.
  /// By dimension of the frame: how many elements of the value count as one there. All cuts are at
  /// multiples of it, so that values of different sizes share a redistribution.
  std::vector<std::int64_t> unit{};
  std::int64_t scale = 1;  ///< Elements of the value per element of the frame.

  bool operator==(const ValueSpread&) const = default;
};

/// Places that hold the same region of a value.
struct PlaceGroups {
  std::vector<std::int32_t> region;  ///< By tile: the number of its region.
  std::vector<std::int32_t> copies;  ///< By region: how many tiles have it.
  std::vector<std::int32_t> first;   ///< By region: its first tile.

  bool operator==(const PlaceGroups&) const = default;
};

/// Grows with what is asked; answers stay valid as long as it lives. Borrows tables and machine.
class SpreadTable {
 public:
  SpreadTable(TileTables& tables, const Machine& machine);

  ValueSpread find(const SpreadRequest& request);

  /// Of a number that each tile of the set adds a term to (or, with others, the same term), and
  /// that each of them reads. `terms`: by tile.
  ValueSpread numbers(TileSetId set, const std::vector<std::int32_t>& terms);

  /// The participant that lists these places.
  Participant listed(const std::vector<std::int32_t>& devices, const std::vector<Region>& regions,
                     const Shape& shape);
  /// Which of the places that readers need.
  enum class Places {
    largest,        ///< None that another one on the same device holds.
    all_different,  ///< Each once.
  };
  /// Returns the places that must store a value for these readers. There is at least one.
  Participant places_for(const std::vector<Participant>& readers, const Shape& shape, Places which);

  const PlaceGroups& groups_of(const Participant& participant);

  /// Number of different redistributions computed so far.
  std::size_t made() const { return made_.size(); }

 private:
  RedistributionRequest expand(const SpreadRequest& request, const ValueSpread& spread) const;
  std::vector<std::int64_t> units_of(const SpreadRequest& request, const std::vector<int>& frame);
  /// What all bounds are multiples of.
  std::int64_t divisor_of(RangesId ranges);
  /// The request with dimensions of the frame counted in units.
  SpreadRequest in_units(SpreadRequest request, const ValueSpread& spread);
  RangesId divided(RangesId ranges, std::int64_t unit, std::int64_t extent);

  TileTables& tables_;
  std::vector<std::int32_t> processes_, nodes_;  // by device
  std::unordered_map<TableKey, std::unique_ptr<const Moves>, TableKeyHash> made_;
  std::unordered_map<TableKey, std::unique_ptr<const PlaceGroups>, TableKeyHash> groups_;
  std::unordered_map<RangesId, std::int64_t> divisors_;
  std::map<std::pair<RangesId, std::int64_t>, RangesId> divided_;
};

/// The region of a tile, and its shape, which takes no allocation.
Region region_of(const TileTables& tables, const Participant& participant, std::int32_t tile,
                 const Shape& shape);
Shape shape_of_tile(const TileTables& tables, const Participant& participant, std::int32_t tile,
                    const Shape& shape);

}  // namespace troika
