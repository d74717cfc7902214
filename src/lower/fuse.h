// Forward tasks that can run as one kernel: an operator with the bias, activation and residual sum
// behind it.
#pragma once

#include <vector>

#include "cost/kernel_table.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// Tasks first..last (indices into the list) as one.
struct FusedChain {
  std::vector<std::size_t> tasks;
  KernelKey key;
};

/// Every chain that could be fused, prefixes of longer ones included, the longest of each start
/// first. A value between two of its tasks is read by the next one only, so it need not exist.
std::vector<FusedChain> find_chains(const TaskGraph& graph);

/// Fuses the longest chains that the table has a kernel for. Precondition: the table has a row for
/// each chain.
void fuse(TaskGraph& graph, const KernelTable& table);

}  // namespace troika
