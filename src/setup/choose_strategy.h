// Chooses the strategy that the [parallel] section of a run file names.
#pragma once

#include "config/run_config.h"
#include "cost/link_costs.h"
#include "machine/machine.h"
#include "strategy/strategy.h"
#include "zoo/zoo.h"

namespace troika {

/// What a strategy is chosen for.
struct StrategyRequest {
  const RunConfig& config;
  const zoo::Model& model;
  const Machine& machine;
  /// Ready plans weigh what messages cost, by these costs if the machine has no links. All commands
  /// pass the known costs (known_links.h), so that a name means the same plan to each of them.
  const LinkCosts& links;
};

/// Returns one strategy for all graphs of the model: a ready strategy by name, one built from
/// degrees, the content of a plan file, or for "auto" the result of a search (auto_plan.h). With
/// parallel.weights = "measured" each device gets samples in proportion to its speed in `machine`.
/// Throws Error(usage) for an unknown name and Error(file) for a file that is not a plan.
Strategy choose_strategy(const StrategyRequest& request);

/// What a run file says of a plan besides its splits.
Strategy base_strategy(const RunConfig& config);

/// The machine for ready_strategy: if its links are not known, with one as fast as the slowest
/// between two of its devices, by these costs.
Machine with_slowest_link(Machine machine, const LinkCosts& costs);

/// Returns the strategy as plan.json holds it: with the model and its options, the global batch,
/// the optimizer and the machine of the run.
Strategy with_origin(const Strategy& strategy, const RunConfig& config, const zoo::Model& model,
                     const Machine& machine);

}  // namespace troika
