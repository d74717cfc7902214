// Derives the graph for evaluation and prediction from the training graph.
#pragma once

#include "graph/graph.h"

namespace troika {

/// Returns the model with batch norm on its running statistics and without dropout. Inputs,
/// parameters and the names of outputs are those of `graph`; the result is verified.
Graph inference(const Graph& graph);

}  // namespace troika
