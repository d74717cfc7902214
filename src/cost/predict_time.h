// Predicted times: of a collective, measured on this machine if available, else by formula; and of
// the tasks of a task graph, by the roofline of their devices.
#pragma once

#include <optional>
#include <string_view>

#include "cost/link_costs.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct PredictedTime {
  SimTime time{};
  bool is_measured = false;  ///< Interpolated between measured times of this algorithm.
};

/// Returns whether no range is longer than a nearly equal part of the vector.
bool has_equal_parts(const CollectiveCall& call);

/// Measured times apply to equal parts over one kind of link, without segments, in an order that
/// has no extra cost. The formula is used for everything else.
PredictedTime predict_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                           const LinkCosts& costs);

/// Returns nothing if the algorithm was not measured for such a call.
std::optional<SimTime> measured_time(const CollectiveCall& call, std::string_view algorithm,
                                     Bytes element, const LinkCosts& costs);

/// A process, and what its host copies to its devices before each pass.
struct ProcessInputs {
  std::vector<std::int32_t> lanes;  ///< As in LoopProcess.
  Bytes bytes{};
};
RuntimeCosts runtime_costs(const std::vector<ProcessInputs>& processes, const MemoryCost& memory);

/// Returns the graph with each task's time replaced by the roofline of its device. Kernel choices
/// stay as they are.
TaskGraph retime(TaskGraph graph, const Machine& machine);

}  // namespace troika
