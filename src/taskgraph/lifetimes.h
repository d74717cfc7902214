// How long the memory of each buffer is in use: what places buffers and counts their memory. The
// verifier finds out for itself (check_memory.h).
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// First and last task that touches the memory of each root buffer; inputs live from the start,
/// held buffers to the end, and what carried tasks touch all the time.
struct Lifetime {
  std::size_t first = 0;
  std::size_t last = 0;
  bool used = false;
};
std::vector<Lifetime> find_lifetimes(const TaskGraph& graph);

}  // namespace troika
