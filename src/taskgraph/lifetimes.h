// How long the memory of each buffer is in use: what places buffers and counts their memory. The
// verifier finds out for itself (check_memory.h).
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// First and last task that touches the memory of each root buffer, as places in a pass of the loop
/// (see loop_order). Inputs live from the start, held buffers to the end, and what outlives a pass
/// all the time: persistent buffers, and those whose value a task of another lag still needs.
struct Lifetime {
  std::size_t first = 0;
  std::size_t last = 0;
  bool used = false;
  bool outlives_pass = false;  ///< Then no task is the last one that needs it.
};
std::vector<Lifetime> find_lifetimes(const TaskGraph& graph);

/// Where each task stands in an order.
std::vector<std::size_t> places_in(const std::vector<std::size_t>& order);

}  // namespace troika
