// A plan in virtual time, and the text and JSON that `troika simulate` prints of it.
#pragma once

#include <string>
#include <vector>

#include "cli/simulation_target.h"
#include "setup/plan_kernels.h"
#include "setup/predicted_plan.h"

namespace troika::cli {

struct SimulatedPlan {
  SimulationTarget target;
  std::vector<PredictedProgram> programs;  ///< Of a step, in turn.
  PlanKernels::Sources kernels;

  SimTime step() const;
  /// Of all programs, one after the other.
  WorkDepth bounds() const;
};

/// `also`: devices whose tasks shall be in the graphs too.
SimulatedPlan simulate_plan(SimulationTarget target, bool measures,
                            const std::vector<DeviceId>& also = {});

/// "7.1 ms of work (W), longest chain 2.3 ms (D): ..."
std::string bounds_text(const WorkDepth& bounds);

std::string to_text(const SimulatedPlan& plan);
/// One line.
std::string to_json_text(const SimulatedPlan& plan);
/// Chrome's trace format: the first device of each class in the first program, with its memory.
std::string trace_of(const SimulatedPlan& plan);

}  // namespace troika::cli
