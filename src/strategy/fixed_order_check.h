// What the same bits on any number of devices ask of a strategy (docs/design.md, Lowering).
#pragma once

#include <optional>
#include <string>

#include "graph/indexed_graph.h"
#include "strategy/strategy.h"

namespace troika {

/// Sums go in the order of a tree over S parts of the batch, so every operator with samples has to
/// be {n: S} with S a power of two, S/P neighbouring parts on each of P devices, and nothing else
/// may be split, nor the batch into micro-batches, nor updates into slices. A sentence says what is
/// not so.
[[nodiscard]] std::optional<std::string> why_order_not_fixed(const Strategy& strategy,
                                                             const IndexedGraph& index);

}  // namespace troika
