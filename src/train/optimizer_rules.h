// The [optimizer] section and a graph's parameters → one update rule per parameter.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "ops/optimizer_spec.h"
#include "optim/rate_schedule.h"

namespace troika {

/// Rules for every trained parameter; running statistics get theirs too.
OptimizerSpec make_optimizer(const RunConfig& config, const Graph& graph);

/// Marks as frozen what matches one of the patterns; throws Error(usage) for a pattern that matches nothing.
void freeze_parameters(Graph& graph, std::span<const std::string> patterns);

RateSchedule make_rate_schedule(const OptimizerConfig& config, const RunLength& length);

}  // namespace troika
