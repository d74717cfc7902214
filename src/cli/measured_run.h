// A run folder as prediction and measurement: its plan, simulated with the costs that the run used,
// and its last step, task by task.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/measured_step.h"
#include "cli/simulated_plan.h"

namespace troika::cli {

struct MeasuredRun {
  SimulatedPlan plan;
  MeasuredStep step;
  SimTime time{};                    ///< Of a step, as measured.
  std::vector<DeviceId> devices{};   ///< Those that the trace shows.
  LoopPass predicted{}, measured{};  ///< Of the first program, on these devices.

  const PredictedProgram& program() const { return plan.programs.front(); }
  /// Tasks of the trace that the simulated plan does not have.
  std::int64_t unknown_tasks() const;
};

/// `costs`: a cost file that replaces the run's own; empty: none. Throws Error(file) if the folder
/// lacks something, such as the trace of a run that has not ended, or if a file is damaged.
MeasuredRun open_measured_run(const std::filesystem::path& run, const std::string& costs = {});

/// Notes for readers of a comparison: its two sides, and parts that are not in the trace.
std::vector<std::string> notes_of(const MeasuredRun& run);

}  // namespace troika::cli
