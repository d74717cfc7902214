// A task graph in virtual time. Full simulation: every task once, in order, in whole
// nanoseconds, so that equal inputs give equal timelines on any machine.
#pragma once

#include "taskgraph/timeline.h"

namespace troika {

/// Each device runs its tasks in the order of the loop, each as soon as what it depends on has
/// ended; a task lasts as long as its kernel choice says. `steps` repeats the loop body, with
/// dependencies of distance 1 between neighbours; the timeline is of the last one.
Timeline simulate(const TaskGraph& graph, int steps = 1);

}  // namespace troika
