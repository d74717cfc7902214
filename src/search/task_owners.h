// Which operator of the model a task works for.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// An operator by its place in the model; -1: none.
using OperatorPlace = std::int32_t;

/// Valid for lowered task graphs of one model and strategy. Parts of a layer that is cut over time
/// belong to the layer, and a parameter to the first operator that has it.
class TaskOwners {
 public:
  TaskOwners(const Graph& model, const Strategy& strategy);

  /// Of a kernel that computes a phase of an operator, or that updates a parameter. -1: it prepares
  /// or follows such kernels (copies, sums, reorders), or is the end of a message.
  OperatorPlace kernel_owner(const Task& task) const;
  /// Of a start or finish, or of a kernel without an owner: the operator whose output, gradient of
  /// the output or parameter it moves. -1: none, such as sums over all devices.
  OperatorPlace moved_for(const Task& task) const;

 private:
  std::vector<OperatorPlace> of_operator_;   // of the planned graph, where layers may be cut
  std::vector<OperatorPlace> of_tensor_;     // of the planned graph: its producer
  std::vector<OperatorPlace> of_parameter_;  // the same in both graphs
};

/// Whether the task moves the gradient of a parameter, or a bucket of gradients, which belongs to
/// the parameter that is first in it.
bool moves_parameter_gradient(const Task& task);

}  // namespace troika
