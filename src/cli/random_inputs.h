// Inputs for benchmarks: random numbers of the right kind for every input of a graph.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace troika::cli {

/// Floats are standard normal, "weight" is 1, integers lie below the bound of the operator that
/// reads them. A pure function of the graph.
std::vector<std::byte> random_input(const Graph& graph, TensorId input);

}  // namespace troika::cli
