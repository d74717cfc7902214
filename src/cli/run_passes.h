// A step of a run, as it was predicted and as it was measured, task by task.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/simulated_plan.h"

namespace troika::cli {

struct RunPasses {
  SimulatedPlan plan;
  /// Of the first program of the plan, on the devices of the trace: those of the first rank. The
  /// period of `measured` is the time of a step.
  LoopPass predicted{}, measured{};
  std::int64_t unknown_tasks = 0;  ///< Tasks of the trace that the simulated plan does not have.
  std::vector<std::string> notes{};
};

/// Simulates the plan of a run folder with the costs that the run used, or those of `costs`. Throws
/// Error(file) if the folder lacks something or a file is damaged.
RunPasses read_run_passes(const std::filesystem::path& run, const std::string& costs);

}  // namespace troika::cli
