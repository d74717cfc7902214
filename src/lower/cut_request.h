// The request that is planned for a request of the model: its recurrent layers are cut over time as
// the strategy says (strategy/cut_strategy.h). distribute() takes only such requests.
#pragma once

#include <optional>

#include "lower/lower.h"
#include "strategy/cut_strategy.h"

namespace troika {

/// If the strategy cuts nothing, `request` is that of the model. Borrows what that borrows.
struct CutRequest {
  /// The cuts must be feasible.
  explicit CutRequest(const LowerRequest& model);
  CutRequest(const CutRequest&) = delete;  // `request` refers to the others
  CutRequest& operator=(const CutRequest&) = delete;

  LayerCuts cuts;
  std::optional<CutGraph> cut;  ///< The graph with these; unset if there are none.
  Strategy strategy;            ///< For the cut graph.
  LowerRequest request;
};

}  // namespace troika
