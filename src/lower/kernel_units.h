// Which kernel each kind of tile takes and how values lie, decided once for all devices: a unit is
// one kind of tile of one phase, so copies of a tile take the same kernel wherever they are.
#pragma once

#include <optional>
#include <vector>

#include "lower/unit_graph.h"
#include "lower/unit_regions.h"

namespace troika {

struct KernelUnit {
  KernelKey key;
  KernelChoice choice;
  std::vector<InPlace> in_place;
  /// By operand: the use of a job that it is. Of several jobs where operators are fused.
  std::vector<ValueUse> operands;
  /// It runs as a part of another unit, at that one's place.
  bool is_fused_away = false;

  bool operator==(const KernelUnit&) const = default;
};

struct KernelUnits {
  std::vector<std::vector<KernelUnit>> jobs;  ///< By job and kind of tile.
  /// By update, kind of stored place and phase. Operands are uses of the phase; their job is -1.
  std::vector<std::vector<std::vector<KernelUnit>>> updates;
  std::vector<std::vector<Layout>> stored;  ///< By value and kind of place; parameters only.
  BorderLayouts borders;

  bool operator==(const KernelUnits&) const = default;
};

/// The values that a border decides about.
std::vector<std::int32_t> values_of(const Outline& outline, const RegionBorder& border);

/// The rows of all units, also of those that they would make if they were fused.
std::vector<KernelRequest> rows_of(const UnitRequest& request, const UnitRegions& regions);

/// Units without kernels: nothing is fused and all values lie plain.
KernelUnits plain_units(const UnitRequest& request, const UnitRegions& regions);

/// Chooses the units of a program piece by piece. Each piece depends on the distribution of its own
/// operators and on the table; a region also on its borders. So after a change only what it touches
/// is decided again, in any order, borders before regions. Borrows everything.
class UnitChooser {
 public:
  UnitChooser(const UnitRequest& request, const UnitRegions& regions, const KernelTable& table)
      : request_(request), regions_(regions), table_(table), index_(request) {}

  /// No unit is decided yet.
  KernelUnits undecided() const;
  /// Both return whether the table has the rows that are needed, and throw Error(usage) for a unit
  /// without kernels.
  [[nodiscard]] bool decide_border(std::size_t border, KernelUnits& units) const;
  [[nodiscard]] bool decide_region(std::size_t region, KernelUnits& units) const;
  const UnitIndex& index() const { return index_; }

 private:
  UnitRequest request_;
  const UnitRegions& regions_;
  const KernelTable& table_;
  UnitIndex index_;
};

/// Decides everything; nothing if the table lacks one of rows_of.
std::optional<KernelUnits> choose_units(const UnitRequest& request, const UnitRegions& regions,
                                        const KernelTable& table);

}  // namespace troika
