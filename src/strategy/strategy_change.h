// Whether a strategy still fits after some operators have got other splits.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "graph/indexed_graph.h"
#include "strategy/strategy.h"

namespace troika {

/// A strategy that was feasible until these operators got other splits.
struct ChangedStrategy {
  const Strategy& strategy;
  std::span<const std::int32_t> operators;  ///< By their place in the graph.
};

/// The answer of why_infeasible for the whole strategy, which this looks at only as far as it has
/// changed.
[[nodiscard]] std::optional<std::string> why_change_infeasible(const ChangedStrategy& changed,
                                                               const IndexedGraph& index,
                                                               const Machine& machine);

}  // namespace troika
