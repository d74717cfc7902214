// Which kernel each kind of tile takes and how values lie, decided once for all devices: a unit is
// one kind of tile of one phase, so copies of a tile take the same kernel wherever they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/updates.h"

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

struct UnitRequest {
  const LowerRequest& request;
  const PlanTables& tables;
  const Distribution& distribution;
  const std::vector<UpdatePlan>& updates;
};

/// Kernels that are decided already, by the name of the unit.
using GivenChoices = std::map<std::string, KernelChoice>;

/// The rows of all units, also of those that they would make if they were fused.
std::vector<KernelRequest> rows_of_units(const UnitRequest& request);

/// Units without kernels: nothing is fused and all values lie plain.
KernelUnits plain_units(const UnitRequest& request);

/// Precondition: the table has a row for each of rows_of_units.
KernelUnits choose_units(const UnitRequest& request, const KernelTable& table,
                         const GivenChoices& given);

/// The shape that an update works on at a stored place.
TensorSpec updated_spec(const UnitRequest& request, const UpdatePlan& update, std::int32_t place);

/// What one tile of a job computes.
KernelKey key_of(const UnitRequest& request, std::size_t job, std::int32_t tile);
/// The tile's box in the iteration space of its operator, in the first micro-batch.
Region box_of(const UnitRequest& request, std::size_t job, std::int32_t tile);

}  // namespace troika
