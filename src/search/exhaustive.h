// Tries every strategy of a small space, or proves that it cannot be the best: branch and bound
// with simulation at the leaves.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "search/chain.h"
#include "search/tile_costs.h"

namespace troika {

/// Proof that no strategy of a space has a shorter period.
struct Certificate {
  ScoredStrategy best;
  SimTime least{};             ///< The bound of the whole space, before anything was tried.
  double log10_size = 0;       ///< Of the space.
  std::uint64_t size = 0;      ///< Saturates.
  std::int64_t simulated = 0;  ///< Strategies, one by one.
  std::int64_t cut_off = 0;    ///< Subtrees whose bound was not below the best period.
};

struct ExhaustiveRequest {
  const LowerRequest& request;
  const ScoringKernels& kernels;
  const SplitMenus& menus;
  /// A strategy to beat: the better it is, the less has to be simulated. It need not be in the
  /// space; if nothing in the space is better, it is the best.
  ScoredStrategy first;
  std::int64_t most_simulated = 10'000'000;
  std::function<bool()> stop_requested{};            ///< True: give up.
  std::function<void(const Certificate&)> report{};  ///< What is known so far.
};

/// The bound of a subtree, in which some operators have their splits, is the largest of: the work
/// of all operators, each with its least, over the devices; the cost of the busiest device; the
/// heaviest cycle over the loop without messages; and the cycle along one chain with the least
/// messages. What a bound cannot count is as in find_bounds. The devices must be of equal speed.
/// Returns how many strategies were simulated if it gave up.
[[nodiscard]] std::variant<Certificate, std::int64_t> search_exhaustively(
    const ExhaustiveRequest& asked);

}  // namespace troika
