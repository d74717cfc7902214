// Describes what all ranks of a run must agree on, one fact per line, so that the error of two
// ranks that differ can name the line.
#pragma once

#include <string>

#include "setup/live_model.h"
#include "strategy/strategy.h"
#include "train/training_sets.h"

namespace troika {

/// The part known before lowering: the build, the effective configuration, the samples.
std::string fingerprint_of_run(const RunConfig& config, const TrainingSets& sets);

/// The part known after lowering: the model, the strategy, the kernel table, the link costs and
/// the plan of every program.
std::string fingerprint_of_programs(const LiveModel& live, const Graph& model,
                                    const Strategy& strategy);

}  // namespace troika
