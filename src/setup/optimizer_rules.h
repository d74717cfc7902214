// Turns the [optimizer] section into one update rule per parameter and a learning-rate schedule.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "ops/optimizer_spec.h"
#include "optim/rate_schedule.h"
#include "zoo/model.h"

namespace troika {

/// Returns a rule for every trained parameter, running statistics included.
OptimizerSpec make_optimizer(const RunConfig& config, const Graph& graph);

/// Freezes the parameters that match one of the patterns, in all graphs of the model. Running
/// statistics are not frozen: batch norms still normalise by the batch, and evaluation needs the
/// statistics of those batches. Throws Error(usage) if a pattern matches nothing or if nothing is
/// left to train.
void freeze_parameters(zoo::Model& model, std::span<const std::string> patterns);

RateSchedule make_rate_schedule(const OptimizerConfig& config, const RunLength& length);

}  // namespace troika
