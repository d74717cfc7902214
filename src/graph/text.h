// The text form of a graph: one line per input, parameter, operator and output. Parsing it gives
// the same graph. For tests, `inspect` and hashes.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace troika {

///   graph mlp
///   input x f32[64,784]
///   parameter fc1.weight f32[10,784] uniform 0.0357
///   operator fc1 linear{out=10} (x) [fc1.weight] -> fc1
///   output logits fc1
///   loss ce.loss_sum ce.weight_sum
std::string to_text(const Graph& graph);

/// Throws Error(file) with the line number if the text is not a graph. The result is verified.
Graph parse_graph(std::string_view text);

}  // namespace troika
