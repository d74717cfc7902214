// One Markov chain over plans: the algorithm of Metropolis et al. (doi:10.1063/1.1699114), as
// FlexFlow uses it (arXiv:1807.05358, section 6.2), but with respect to the current plan and at
// temperatures that follow from the differences that moves really make.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "search/searched_plan.h"
#include "search/split_moves.h"

namespace troika {

/// A strategy with its predicted step.
struct ScoredStrategy {
  Strategy strategy;
  SimTime period{};
};

struct ChainOptions {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;  ///< Selects an independent stream of random numbers.
  std::int64_t proposals = 1000;
  double heat = 0.1;             ///< Temperature, as a part of the median difference of a move.
  SimTime typical_difference{};  ///< Of the period, that a move makes.
  std::size_t kept = 4;          ///< Of the best plans, the last ones.
};

struct MoveCount {
  std::int64_t proposed = 0, feasible = 0, accepted = 0;
  std::int64_t too_long = 0;  ///< Of the feasible ones: by their kernels alone; not simulated.
};

struct ChainResult {
  std::vector<ScoredStrategy> best;  ///< The shortest period first. Never empty.
  std::array<MoveCount, kSplitMoveKinds> moves{};
  std::int64_t proposed = 0;  ///< Fewer than asked for if it was stopped.
};

/// The median of the differences that some first moves make; the plan is then as it was.
SimTime typical_difference(SearchedPlan& plan, const SplitMoves& moves, std::uint64_t seed);

/// Called after each proposal by the thread of the chain, with the best period so far. Returns
/// which part of its time is over; the chain stops at 1. Always 0 if only proposals count.
using ChainProgress = std::function<double(SimTime best)>;

/// Walks from the plan's strategy, which must fit into memory, as every accepted plan does. The
/// result depends on nothing but the arguments, if `progress` returns 0.
ChainResult run_chain(SearchedPlan& plan, const SplitMoves& moves, const ChainOptions& options,
                      const ChainProgress& progress);

}  // namespace troika
