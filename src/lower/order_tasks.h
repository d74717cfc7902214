// Where in the list tasks stand that may stand in several places: updates, and the two ends of a
// communication.
#pragma once

#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// Whether a task only copies values, adds up copies of them or lays them out otherwise, as the way
/// to and from messages needs it.
bool is_copy(const Task& task);

/// An update goes right behind the last task that needs the old weight or adds to its gradient,
/// while both are in the caches; one that waits for a communication stays at the end, and so does
/// the guard, right before the first update.
void order_updates(TaskGraph& graph);

/// Communications start as soon as their buffers are ready,
void start_early(TaskGraph& graph);
/// and end where the first task needs the result, so that there is something to do meanwhile.
void finish_late(TaskGraph& graph);
/// Without overlap: all members start and end a communication where the first of them would have
/// ended it, one behind the other.
void wait_at_once(TaskGraph& graph);

}  // namespace troika
