// A simulated plan, and the text and JSON that `troika simulate` prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/simulation_target.h"
#include "setup/plan_kernels.h"
#include "setup/predicted_plan.h"

namespace troika::cli {

struct SimulatedPlan {
  SimulationTarget target;
  std::vector<PredictedProgram> programs;  ///< The programs of a step, in turn.
  PlanKernels::Sources kernels;
  KernelTable rows{};                        ///< That the plan needs, with their times.
  std::optional<OrderedMessages> ordered{};  ///< If the plan got another order of messages.

  SimTime step() const;
  /// The sums over all programs, which run one after the other.
  WorkDepth bounds() const;
};

struct PlanSimulationOptions {
  bool measures = true;          ///< As PlanKernels::Options.
  bool orders_messages = false;  ///< Orders the messages of the plan first (order_messages).
  std::vector<DeviceId> also{};  ///< Devices whose tasks shall be in the graphs too.
};
/// Throws Error(usage) if messages are to be ordered and a step is more than one program.
SimulatedPlan simulate_plan(SimulationTarget target, const PlanSimulationOptions& options);

/// The plan file of what was simulated, which `train` and `bench step` can run.
std::string plan_text(const SimulatedPlan& plan);

/// "7.1 ms of work (W), longest chain 2.3 ms (D): ..."
std::string bounds_text(const WorkDepth& bounds);

std::string to_text(const SimulatedPlan& plan);
/// One line.
std::string to_json_text(const SimulatedPlan& plan);
/// Chrome's trace format: the first device of each class in the first program, with its memory.
std::string trace_of(const SimulatedPlan& plan);

}  // namespace troika::cli
