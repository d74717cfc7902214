// parallel.plan = "auto": the plan of a run is searched for and kept for later runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "setup/plan_finder.h"

namespace troika {

struct AutoPlan {
  Strategy strategy;  ///< With its origin, as plan.json has it.
  std::int64_t devices = 1;
  std::vector<std::string> reasons;  ///< Sentences for the user.
};

struct AutoPlanRequest {
  const RunConfig& config;
  const zoo::Model& model;
  const LinkCosts& links;
  /// Those that the run may have, such as this computer with one device or two.
  std::vector<Machine> machines;
  /// The time is shared by all machines.
  PlanSearchOptions search{.seconds = 10};
};

/// Throws Error(usage) if other keys of [parallel] contradict plan "auto", or as
/// require_searchable.
void require_auto_possible(const RunConfig& config, const zoo::Model& model);

/// Returns the plan with the shortest predicted step. A plan is kept in the cache folder
/// (`kernels.cache`) and taken from there if model, batch, optimizer, machine, links and build are
/// the same. Throws as find_plan and require_auto_possible.
AutoPlan find_auto_plan(const AutoPlanRequest& request);

}  // namespace troika
