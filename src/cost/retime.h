// Predicted times of a task graph's tasks on a device whose rates were measured.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// The same graph with each task's time by the roofline of its device; kernel choices stay as they
/// are.
TaskGraph retime(TaskGraph graph, const Machine& machine);

}  // namespace troika
