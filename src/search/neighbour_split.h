// The split that an operator needs to work on what a neighbour has, where it has it.
#pragma once

#include <optional>
#include <vector>

#include "graph/indexed_graph.h"
#include "strategy/strategy.h"

namespace troika {

/// Two operators that one tensor joins.
struct Neighbours {
  std::size_t from = 0;
  std::size_t to = 0;
  int from_slot = 0;  ///< Of the tensor, in the signature of `from`.
  int to_slot = 0;
};

/// For each operator, its producers and consumers; `to` is the operator itself.
std::vector<std::vector<Neighbours>> find_neighbours(const IndexedGraph& index);

/// The split of `from`, cut along the axes of `to` that run along the same dimensions of the
/// tensor. Cuts along other axes become copies. Recurrent layers take over the number of chunks.
Split split_like_neighbour(const IndexedGraph& index, const Neighbours& neighbours,
                           const Split& split);

}  // namespace troika
