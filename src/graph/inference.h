// The graph that evaluation and prediction run, made from the one that is trained.
#pragma once

#include "graph/graph.h"

namespace troika {

/// The same model with batch norm on its running statistics and no dropout: what read a dropout's
/// output reads its input. Inputs, parameters and the names of outputs are those of `graph`; the
/// result is verified.
Graph inference(const Graph& graph);

}  // namespace troika
