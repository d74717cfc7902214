// One timeline of all processes from those that each of them recorded.
#pragma once

#include <vector>

#include "taskgraph/timeline.h"

namespace troika {

/// The processes' clocks begin at different moments, so their timelines are shifted against that of
/// the first process by what they share: no member of an all-reduce ends before all have started,
/// and where a process did nothing else meanwhile, all members end at the same time. Precise to
/// about the time of a message. `graph`: of all devices; spans of tasks that it lacks are kept.
Timeline join_timelines(const TaskGraph& graph, const std::vector<Timeline>& processes);

}  // namespace troika
