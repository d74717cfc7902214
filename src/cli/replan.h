// `troika plan --from RUN`: a run's model and machine as it measured them, and what another plan
// would gain there.
#pragma once

#include <optional>
#include <string>

#include "cli/simulation_target.h"
#include "setup/measured_conditions.h"
#include "setup/plan_finder.h"

namespace troika::cli {

/// Measurements of a run, and its own plan, which others are compared with.
struct RunFindings {
  std::string run;
  SimTime predicted{}, measured{};  ///< A step; predicted without knowing the conditions.
  MeasuredConditions conditions{};
  NamedStrategy plan{};
};

struct Replan {
  SimulationTarget target;  ///< Devices and links are as slow as they were measured.
  RunFindings findings;
};

/// Throws as open_measured_run and require_searchable.
Replan open_replan(const std::string& run);

/// The predicted step of the run's own plan under the measured conditions; nothing if it does not
/// fit there.
std::optional<SimTime> step_of_run(const RunFindings& run, const PlanFinding& finding);

/// "With what runs/digits measured (device 1 is 1.9 times as slow) its plan takes 120 ms a step;
/// the plan found takes 95 ms: 1.26 times as fast"
std::string gain_text(const RunFindings& run, const PlanFinding& finding);

}  // namespace troika::cli
