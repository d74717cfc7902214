// What the simulator sees of a loop: tasks in the order of a pass, each on a lane, and messages.
#pragma once

#include <cstdint>
#include <vector>

#include "taskgraph/folded_graph.h"

namespace troika {

struct LoopTask {
  std::int32_t lane = 0;  ///< A device, or a class of devices; runs its tasks one after the other.
  std::int32_t message = -1;  ///< Of a start or finish.
  SimTime time{};             ///< Of a finish: of the message.
  std::int32_t lag = 0;
  TaskKind kind = TaskKind::compute;
};

struct LoopBody {
  std::vector<LoopTask> tasks;
  std::vector<std::size_t> order;  ///< Of tasks. Starts of a message come before its finishes.
  std::vector<Dependency> dependencies;
  std::size_t lanes = 0, messages = 0;
};

/// Of a graph of all devices: lanes are devices, tasks are numbered as in the graph.
LoopBody loop_body(const TaskGraph& graph);

/// Lanes are classes; tasks are numbered class by class. What tasks of a device wait for, besides
/// messages, stands before them, so there are no dependencies.
LoopBody loop_body(const FoldedGraph& graph);

}  // namespace troika
