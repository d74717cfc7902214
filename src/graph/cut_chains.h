// Finds the cut layers that take over the chunks of the layer below, so that both can work at once.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/cut_layers.h"

namespace troika {

/// Cut layers whose chunks alternate, and the dropouts between them, as ascending indices of
/// operators. A layer whose input does not come in chunks begins a chain.
using LayerChain = std::vector<std::int32_t>;

std::vector<LayerChain> find_chains(const Graph& graph, const LayerCuts& cuts);

}  // namespace troika
