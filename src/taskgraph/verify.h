// The checks that a task graph passes after every pass of lowering.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// How far lowering has come: memory and kernels are checked once they are decided.
enum class Stage { expanded, chosen, placed };

/// Throws Bug naming the task and the buffer when: operands differ from the key's in number or
/// shape; a buffer is read, or travels, before it is written; a buffer is written twice (other than
/// by updates), or a state updated twice; two states have one name; a member of a communication is
/// missing, finishes before another one has started (as listed, or in the loop), or shares its
/// buffer meanwhile; the members' ranges do not make up what is gathered, scattered or exchanged,
/// or the storage a parameter or state; buffers of the state are not what the storage lists; the
/// order of the loop is not that of the turns; what check_lags.h says; from Stage::chosen: a layout
/// differs from the chosen kernel's; from Stage::placed: what check_memory.h and check_order.h say.
///
/// Of a graph of some devices only: what members on other devices do is not known and not checked.
void verify(const TaskGraph& graph, Stage stage);

}  // namespace troika
