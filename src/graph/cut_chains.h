// Finds the cut layers that take over the chunks of the layer below.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cut_layers.h"

namespace troika {

/// Layers that work chunk by chunk in turn, with the dropouts between them: places in the graph,
/// ascending. A layer that takes over nobody's chunks is a chain of its own.
using LayerChain = std::vector<std::int32_t>;

std::vector<LayerChain> find_chains(const Graph& graph, const LayerCuts& cuts);

}  // namespace troika
