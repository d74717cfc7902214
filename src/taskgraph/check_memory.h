// Nothing overwrites a value that is still needed: part of verify.h.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Runs the loop in the given order (that of loop_order) without computing anything, and notes
/// which buffer owns which bytes of a device's arena. A buffer takes its bytes when it is first
/// written in a step, be it by the host; whoever had them before has lost them. Throws Bug naming
/// task and buffers when a task, or the host after the step, uses a buffer that has lost its bytes
/// or does not have them yet, when a task uses the memory of another device, and when a buffer
/// leaves the arena or what it is a view of.
void check_memory(const TaskGraph& graph, const std::vector<std::size_t>& order);

}  // namespace troika
