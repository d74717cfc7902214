// How each communication runs: its algorithm, by predicted cost.
#pragma once

#include <optional>
#include <string>

#include "cost/link_costs.h"
#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct CommunicationChoices {
  const Machine& machine;
  const LinkCosts& links;
  const Sync& sync;
};

/// Why the strategy's own choice of algorithms cannot be read. Nothing when it can, or there is
/// none.
[[nodiscard]] std::optional<std::string> why_no_algorithms(const Sync& sync);

/// After layouts are chosen: counts are those of the buffers as stored.
void choose_algorithms(TaskGraph& graph, const CommunicationChoices& choices);

}  // namespace troika
