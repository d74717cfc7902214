// What the units of a program compute: the keys of their kernels.
#pragma once

#include <vector>

#include "lower/updates.h"

namespace troika {

/// A program under a strategy, before kernels are chosen.
struct UnitRequest {
  const LowerRequest& request;
  const PlanTables& tables;
  const Distribution& distribution;
  const std::vector<UpdatePlan>& updates;
};

/// The shape that an update works on at a stored place.
TensorSpec updated_spec(const UnitRequest& request, const UpdatePlan& update, std::int32_t place);

/// What one tile of a job computes.
KernelKey key_of(const UnitRequest& request, std::size_t job, std::int32_t tile);
/// The tile's box in the iteration space of its operator, in the first micro-batch.
Region box_of(const UnitRequest& request, std::size_t job, std::int32_t tile);

}  // namespace troika
