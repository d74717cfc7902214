// Timelines of what was recorded of a run.
#pragma once

#include <span>

#include "sim/loop_run.h"
#include "taskgraph/timeline.h"

namespace troika {

/// Nothing has run yet. Spans are those of the tasks of the graph; of a folded graph those of the
/// first device of each class, class by class.
Timeline empty_timeline(const TaskGraph& graph);
Timeline empty_timeline(const FoldedGraph& graph);

/// Fills in the times of tasks, which are numbered as the spans are. Counted from when the first
/// one began.
Timeline fill_timeline(Timeline timeline, std::span<const TaskRun> ran);

}  // namespace troika
