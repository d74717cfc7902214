// Gradients that travel together: one message instead of many small ones.
#pragma once

#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// Joins sums of gradients over the same devices, in the order in which they are ready, up to the
/// strategy's size of a bucket. A gradient is written where it lies in the bucket, so nothing is
/// copied. Precondition: layouts are chosen, and each sum starts behind the task that makes it
/// ready.
void bucket_gradients(TaskGraph& graph, Bytes size);

}  // namespace troika
