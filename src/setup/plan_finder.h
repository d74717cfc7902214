// Finds a plan for a model on a machine: searches with estimated kernels (search/find_plans.h),
// measures those of the best plans, and compares these again.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "search/find_plans.h"
#include "setup/plan_kernels.h"
#include "setup/predicted_plan.h"
#include "zoo/zoo.h"

namespace troika {

struct PlanFinderRequest {
  const RunConfig& config;
  const zoo::Model& model;
  Machine machine;
  const LinkCosts& links;
  Strategy base{};  ///< Everything but splits: micro-batches, how gradients travel.
  /// Plans to begin with besides the ready ones, to be among the finalists if they are feasible.
  std::vector<NamedStrategy> first{};
  KernelTable given{};   ///< Rows of a cost file.
  bool measures = true;  ///< Measures kernels of this computer that have no time yet.
  bool is_here = false;  ///< As PlanKernels::Options.
  PlanSearchOptions search{};
};

/// A plan that was compared with all kernels that a run would choose from.
struct Finalist {
  FoundPlan plan;            ///< As it was scored.
  SimTime period{};          ///< As `simulate` predicts it.
  Bytes memory{};            ///< Of the device that needs most.
  SentBytes sent{};          ///< In a step, by all devices.
  std::int32_t classes = 1;  ///< Of devices that do the same.
  std::string why_not{};     ///< It does not fit after all.
};

struct PlanFinding {
  std::vector<Finalist> finalists;  ///< Those that fit first, the shortest period first.
  FoundPlans found;                 ///< By the last search.
  int searches = 1;
  PlanKernels::Sources kernels{};
  double fit_error = 0;        ///< Mean relative error of estimated kernels over measured ones.
  DeviceRates fitted_rates{};  ///< Of the device whose rows were fitted.
  std::string fitted_to{};     ///< The kind of device whose rows were fitted; empty: none.
  Machine machine;             ///< With the rates that were measured.
  KernelTable known{};         ///< What estimates follow: rows of the cost file, and measured ones.

  const Finalist& best() const { return finalists.front(); }
  /// Of a ready plan; null if it was not among the finalists.
  const Finalist* find(std::string_view origin) const;
};

/// Throws Error(usage) if a step of the model is several programs.
void require_searchable(const zoo::Model& model);

/// Throws as require_searchable, and Error(memory) with what is missing if no plan fits.
PlanFinding find_plan(const PlanFinderRequest& request);

/// What `find` finds on each of these machines, without those that no plan fits: on which it throws
/// Error(memory). Throws the first of these errors if there is nothing else.
std::vector<PlanFinding> find_on_machines(const std::vector<Machine>& machines,
                                          const std::function<PlanFinding(const Machine&)>& find);
/// The one with the shortest step; there must be one.
const PlanFinding& fastest(const std::vector<PlanFinding>& findings);

}  // namespace troika
