// Lets updates that wait for messages run in the next step.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Gives a lag of 1 to the updates at the end of the list and the messages and copies between
/// them, and scalars of their own, because the next step has others. The guard stays: the host
/// reads what it says when the step is over. Marks nothing where a device would then wait within a
/// step for what another one starts in the next.
void carry_updates(TaskGraph& graph);

}  // namespace troika
