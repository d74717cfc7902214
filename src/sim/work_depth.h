// The work W and the depth D of a step (Blelloch 1996, doi:10.1145/227234.227246): no number of
// devices runs a step in less than D, and P of them need at least W / P per step. W / D says how
// many devices a step can keep busy.
#pragma once

#include "taskgraph/folded_graph.h"

namespace troika {

struct WorkDepth {
  SimTime work{};   ///< The sum over all tasks that compute.
  SimTime depth{};  ///< Of the longest chain of tasks and messages of one step that wait for each
                    ///< other by what they read and write, not by the order of their device.

  bool operator==(const WorkDepth&) const = default;
};

/// Takes a graph of all devices, with its dependencies.
WorkDepth work_depth(const TaskGraph& graph);
/// Of all devices, from a folded graph and the task graph of the first device of each class, with
/// its dependencies.
WorkDepth work_depth(const FoldedGraph& folded, const TaskGraph& graph);

/// The least time from step to step that results and memory allow, however many devices there were:
/// of the heaviest cycle of tasks and messages over the loop, by the steps that it goes back. Takes
/// the same graphs.
SimTime heaviest_cycle(const TaskGraph& graph);
SimTime heaviest_cycle(const FoldedGraph& folded, const TaskGraph& graph);

}  // namespace troika
