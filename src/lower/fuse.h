// Tasks that can run as one kernel: an operator with the bias, residual sum, activation or dropout
// behind it, and backward the gradient of an activation with that of the operator before it.
#pragma once

#include <vector>

#include "cost/kernel_table.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// These tasks (indices into the list, in its order) as one.
struct FusedChain {
  std::vector<std::size_t> tasks;
  KernelKey key;
  std::vector<BufferUse> uses;
  std::vector<std::int64_t> position;  ///< In the order of the key: position_count.
};

/// Every chain that could be fused, prefixes of longer ones included, the longest of each start
/// first. A value between two of its tasks is read by the next one only, so it need not exist.
std::vector<FusedChain> find_chains(const TaskGraph& graph);

/// Fuses the chains that the table has a kernel for which takes no longer than their tasks do one
/// by one; of one start the chain that saves most. Precondition: the table has a row for each chain
/// and each task. Returns the chains that it fused, with places in the list as it was.
std::vector<FusedChain> fuse(TaskGraph& graph, const Machine& machine, const KernelTable& table);

}  // namespace troika
