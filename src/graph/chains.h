// Runs of operators that a backend may compute as one kernel: [conv2d, bias, activation],
// [batch_norm, add, relu] and their like. Which of them are fused is decided by lowering; a
// strategy never speaks of them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace troika {

/// The first operator does the work; each further one is elementwise and alone in reading the
/// output before it, which is no output of the graph and has the shape of its own output.
struct Chain {
  std::vector<OperatorId> operators;

  bool operator==(const Chain&) const = default;
};

/// All chains of two operators or more, each as long as it can be, by first operator. No operator
/// is in two of them. Where both operands of an addition could end a chain, the one that is written
/// later is taken, so that the other is there when the fused kernel starts in most graphs.
std::vector<Chain> fusable_chains(const Graph& graph);

}  // namespace troika
