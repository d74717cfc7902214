// Conflicting accesses are ordered: part of verify.h.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Two accesses conflict when they share bytes of a buffer and one of them writes. They must happen
/// as if steps ran one after the other and each in listed order. Throws Bug naming both tasks and
/// the buffer when the dependencies, taken together, do not order such a pair within a step or from
/// one step to the next, or when passes of `order` (that of loop_order) run it the other way round;
/// and when a dependency points backwards within a step, or at a task that runs earlier than the
/// one it waits for.
///
/// Two steps are enough for any lag: each step writes anew what a later one reads, and a pair that
/// is in order from one step to the next is so over more of them.
///
/// Memory that two buffers of the arena take one after the other has no dependencies, because a
/// device runs its tasks in order: see check_memory.h.
void check_order(const TaskGraph& graph, const std::vector<std::size_t>& order);

}  // namespace troika
