// Tasks run in a pass of the loop in which what they need is there: part of verify.h.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// Throws Bug naming task and buffer when a lag is negative and when
/// - a task needs memory as an earlier task of its step leaves it, and that one lags more;
/// - tasks that conflict lag so far apart that a later step's task comes before an earlier one's. A
///   value is overwritten one pass after it was written, and may be read until then: by tasks that
///   lag at most one more than its writer. Others would need several copies of the buffer, which do
///   not exist yet;
/// - the host writes an input of the next step before a task reads it, or reads a value (output,
///   held buffer, control word) before it is written: it does so between two passes, for tasks
///   without lag;
/// - a task reads the scalars of another step.
void check_lags(const TaskGraph& graph);

}  // namespace troika
