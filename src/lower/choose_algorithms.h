// How each communication runs: its algorithm by predicted cost, and its urgency.
#pragma once

#include "cost/link_costs.h"
#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct CommunicationChoices {
  const Machine& machine;
  const LinkCosts& links;
  const Sync& sync;
};

/// After layouts are chosen: counts are those of the buffers as stored.
void choose_algorithms(TaskGraph& graph, const CommunicationChoices& choices);

}  // namespace troika
