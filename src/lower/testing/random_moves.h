// For tests and benchmarks: random moves of a plan, as a search makes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "lower/planner.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"

namespace troika {

/// Each move gives one operator, or a run of a few, the splits that they have in one of a few
/// random strategies, of which half are views and half explicit placements. Borrows the graph.
class RandomMoves {
 public:
  RandomMoves(const Graph& graph, const Machine& machine) : graph_(graph) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      others_.push_back(random_view_strategy(graph, machine, seed));
      others_.push_back(random_strategy(graph, machine, seed));
    }
  }

  /// The same for the same number.
  std::vector<SplitChange> draw(std::uint64_t number) const {
    RandomStream draws{.key = 1, .stream = number};
    const Strategy& other = others_[draws.below(0, others_.size())];
    std::uint64_t count = draws.below(1, 2) == 0 ? 1 : 2 + draws.below(2, 4);
    std::uint64_t first = draws.below(3, graph_.operators.size());
    std::vector<SplitChange> changes;
    for (std::uint64_t at = first; at < std::min(first + count, graph_.operators.size()); ++at)
      changes.push_back(
          {static_cast<std::int32_t>(at), split_of(other, graph_.operators[at].name)});
    return changes;
  }

 private:
  const Graph& graph_;
  std::vector<Strategy> others_;
};

}  // namespace troika
