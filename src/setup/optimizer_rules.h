// The [optimizer] section and a graph's parameters → one update rule per parameter.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "ops/optimizer_spec.h"
#include "optim/rate_schedule.h"
#include "zoo/model.h"

namespace troika {

/// Rules for every trained parameter; running statistics get theirs too.
OptimizerSpec make_optimizer(const RunConfig& config, const Graph& graph);

/// Marks as frozen what matches one of the patterns in any graph of the model. Running statistics
/// are not frozen: norms go on normalising by the batch, so evaluation must know what they saw.
/// Throws Error(usage) for a pattern that matches nothing, and when nothing is left to train.
void freeze_parameters(zoo::Model& model, std::span<const std::string> patterns);

RateSchedule make_rate_schedule(const OptimizerConfig& config, const RunLength& length);

}  // namespace troika
