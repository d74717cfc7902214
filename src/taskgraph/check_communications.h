// Sends match receives: part of verify.h.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Throws Bug naming the communication when a member is missing, finishes before another one has
/// started, or shares its buffer meanwhile, and when the members' ranges do not make up the buffer.
void check_communications(const TaskGraph& graph);

}  // namespace troika
