// Picks an implementation for every task and inserts a reorder wherever a value lies differently
// from what is wanted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/kernel_table.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct ChooseOptions {
  const Machine& machine;
  const std::vector<StoredSlice>& storage;           ///< What another program has fixed.
  const std::map<std::string, KernelChoice>& given;  ///< By task: what is decided already.
  bool sliced_update = false;  ///< Parts of replicated parameters are updated and gathered.
};

/// The kernels and layouts of search_layouts. Values lie as their writer leaves them, parameters as
/// they are stored. Returns the rows of reorders that the table lacks; the graph is complete when
/// there are none.
std::vector<KernelRequest> choose_kernels(TaskGraph& graph, const KernelTable& table,
                                          const ChooseOptions& options);

}  // namespace troika
