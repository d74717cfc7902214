// Every read is written before: part of verify.h.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Throws Bug naming the task and the buffer when a task reads what nothing has written, a message
/// carries it, a buffer is written twice (other than by updates), or a state is updated twice.
void check_writes(const TaskGraph& graph);

}  // namespace troika
