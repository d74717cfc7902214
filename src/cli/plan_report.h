// Text and JSON of a plan that was found, as `troika plan` prints it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/plan_explanation.h"
#include "cli/replan.h"
#include "setup/plan_summary.h"

namespace troika::cli {

struct PlanReport {
  const RunConfig& config;
  const PlanFinding& finding;
  const Graph& graph;
  double seconds = 0;
  std::uint64_t seed = 1;
  std::optional<PlanExplanation> explanation{};
  std::optional<RunFindings> from{};  ///< The run that the plan was searched for.
  std::vector<std::string> notes{};
};

std::string to_text(const PlanReport& report);
/// One line.
std::string to_json_text(const PlanReport& report);

}  // namespace troika::cli
