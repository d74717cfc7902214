// The units of a program as a task graph, each on the device of the first tile of its kind: what
// decides which of them are fused and how values lie.
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

/// Which unit a task of the graph stands for.
struct UnitOfTask {
  std::int32_t job = -1;     ///< -1: an update, or a sum of contributions.
  std::int32_t update = -1;  ///< Index into the updates.
  std::int32_t kind = 0;
  std::int32_t phase = 0;  ///< Of the update.
};

struct UnitGraph {
  TaskGraph graph;
  std::vector<UnitOfTask> units;                             ///< By task.
  std::vector<std::vector<std::vector<BufferId>>> operands;  ///< By job, kind and use.
  std::vector<std::vector<BufferId>> stored;                 ///< By value and kind of place.
};

UnitGraph make_unit_graph(const UnitRequest& request);

/// The shape that an update works on at a stored place.
TensorSpec updated_spec(const UnitRequest& request, const UpdatePlan& update, std::int32_t place);

/// What one tile of a job computes.
KernelKey key_of(const UnitRequest& request, std::size_t job, std::int32_t tile);
/// The tile's box in the iteration space of its operator, in the first micro-batch.
Region box_of(const UnitRequest& request, std::size_t job, std::int32_t tile);

}  // namespace troika
