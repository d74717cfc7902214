// A strategy that cuts recurrent layers over time, as one for the cut graph. The strategy itself
// speaks of the model's own operators, and of the input projections of the layers it cuts.
#pragma once

#include <optional>
#include <string>

#include "graph/cut_layers.h"
#include "strategy/strategy.h"

namespace troika {

/// The cuts that the strategy asks for. Nothing is cut if `chunks` is empty.
LayerCuts layer_cuts(const Strategy& strategy, const Graph& graph);

/// Whether the name is that of the input projection of a layer that is cut.
bool is_projection_of(const LayerCuts& cuts, const std::string& name);

/// Why layers cannot be cut and placed as their splits say. Nothing if they can, as far as the
/// operators of the cut graph agree.
[[nodiscard]] std::optional<std::string> why_not_cut(const Strategy& strategy, const Graph& graph);

/// The split of the operator of the cut graph that has this origin; nothing if the strategy does
/// not name the operator it comes from.
std::optional<Split> split_of_part(const Strategy& strategy, const Graph& graph,
                                   const OperatorOrigin& origin);

/// The strategy for the operators of `cut`, which is the graph with the strategy's layer_cuts.
Strategy cut_strategy(const Strategy& strategy, const Graph& graph, const CutGraph& cut);

/// The graph whose operators and tensors give the messages of the strategy's plan their names: the
/// cut one, or the graph itself if nothing is cut or the cuts are not possible.
Graph graph_of_messages(const Strategy& strategy, const Graph& graph);

}  // namespace troika
