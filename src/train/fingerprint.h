// What the ranks of a run must have in common, as text of which each line names one thing: two
// ranks that differ say in which line.
#pragma once

#include <string>

#include "setup/live_model.h"
#include "strategy/strategy.h"
#include "train/training_sets.h"

namespace troika {

/// Known before anything is lowered: the build, the effective configuration, the samples.
std::string fingerprint_of_run(const RunConfig& config, const TrainingSets& sets);

/// Known after it: the model, the strategy, the kernel table, the costs of links and every task
/// graph.
std::string fingerprint_of_programs(const LiveModel& live, const Graph& model,
                                    const Strategy& strategy);

}  // namespace troika
