// Static memory: an offset in the arena for every value of a step, by liveness.
#pragma once

#include "cost/kernel_table.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// Buffers begin at multiples of 64 bytes; as long as that takes.
Bytes aligned(Bytes bytes);

/// First lets results take the place of operands that die with them, where the kernel allows it;
/// then places the rest, largest first, each at the lowest offset that is free during its life.
/// Fills in offsets and the arena's size.
void place_buffers(TaskGraph& graph, const Machine& machine, const KernelTable& table);

}  // namespace troika
