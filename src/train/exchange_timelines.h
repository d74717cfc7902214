// The step that a run shows in its trace, as all ranks measured it.
#pragma once

#include <string>
#include <vector>

#include "setup/live_model.h"
#include "taskgraph/timeline.h"

namespace troika {

/// Returns the last step of a program by rank, each on its own clock; only that of this rank if
/// there are too many ranks for one trace. Collective.
std::vector<Timeline> exchange_timelines(const LiveModel& live, const std::string& program);

}  // namespace troika
