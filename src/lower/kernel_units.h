// Which kernel each kind of tile takes and how values lie, decided once for all devices: a unit is
// one kind of tile of one phase, so copies of a tile take the same kernel wherever they are.
#pragma once

#include <vector>

#include "lower/unit_graph.h"

namespace troika {

struct KernelUnit {
  KernelKey key;
  KernelChoice choice;
  std::vector<InPlace> in_place;
  /// By operand: the use of a job that it is. Of several jobs where operators are fused.
  std::vector<ValueUse> operands;
  /// It runs as a part of another unit, at that one's place.
  bool is_fused_away = false;
};

struct KernelUnits {
  std::vector<std::vector<KernelUnit>> jobs;  ///< By job and kind of tile.
  /// By update, kind of stored place and phase. Operands are uses of the phase; their job is -1.
  std::vector<std::vector<std::vector<KernelUnit>>> updates;
  std::vector<std::vector<Layout>> stored;  ///< By value and kind of place; parameters only.
};

/// The rows of all units, also of those that they would make if they were fused.
std::vector<KernelRequest> rows_of(const UnitGraph& units, const Machine& machine);

/// Units without kernels: nothing is fused and all values lie plain.
KernelUnits plain_units(const UnitRequest& request, const UnitGraph& units);

/// Precondition: the table has a row for each of rows_of.
KernelUnits choose_units(const UnitRequest& request, UnitGraph units, const KernelTable& table);

}  // namespace troika
