// The plan, machine and costs that `troika simulate` uses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/planned_programs.h"
#include "cli/simulated_machine.h"
#include "cost/kernel_table.h"

namespace troika::cli {

struct SimulationRequest {
  std::string target;                    ///< A plan file or a run file.
  std::vector<std::string> overrides{};  ///< Values that replace those of a run file.
  std::string cluster{};     ///< A cluster file; empty: what the plan says, or this computer.
  std::string costs{};       ///< A cost file; empty: none.
  std::int64_t devices = 0;  ///< 0: as many as the plan has.
  std::int64_t batch = 0;    ///< 0: that of the plan or the run.
  std::vector<std::string> what_if{};
};

struct SimulationTarget {
  PlannedPrograms programs;
  std::string plan;  ///< "data", "data 2 x tensor 2", "plan.json".
  SimulatedMachine on;
  bool is_here = true;  ///< The machine is taken to be this computer.
  KernelTable costs{};
  std::vector<std::string> notes{};  ///< Assumptions, in sentences.
};

/// Throws Error(usage) or Error(file) with a sentence about what is wrong with a file or what the
/// files do not say.
SimulationTarget open_simulation(const SimulationRequest& request);

/// The same for a plan that lies in this folder, without its costs; `request.target` is its name in
/// messages.
SimulationTarget open_plan(const Strategy& strategy, const std::filesystem::path& folder,
                           const SimulationRequest& request);

/// Throws Error(file) that names the path and the line.
KernelTable load_costs(const std::string& path);

}  // namespace troika::cli
