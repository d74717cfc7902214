// A graph with what is looked up in it again and again.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace troika {

/// Signatures are costly to make and never change. Borrows the graph.
struct IndexedGraph {
  explicit IndexedGraph(const Graph& made_of);

  const Graph& graph;
  std::vector<Signature> signatures;                            ///< By operator.
  std::unordered_map<std::string_view, std::size_t> operators;  ///< By name.
};

}  // namespace troika
