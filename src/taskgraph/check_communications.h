// Sends match receives: part of verify.h.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Throws Bug naming the communication when a member is missing and when the members' ranges do not
/// make up the buffer. Then goes through several passes of the loop in the given order (that of
/// loop_order) and throws Bug naming the tasks when a member finishes before another one has
/// started, which would be a deadlock, shares its buffer meanwhile, or starts again.
///
/// Devices cannot wait for each other in a loop that passes: all of them run parts of one order, so
/// whichever task is the first one in it that has not run can run.
void check_communications(const TaskGraph& graph, const std::vector<std::size_t>& order);

}  // namespace troika
