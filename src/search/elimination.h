// Least sum of costs of single choices and of pairs of choices, by eliminating one choice after the
// other: dynamic programming on chains and series-parallel graphs, as OptCNN's node and edge
// elimination (Jia et al., ICML 2018, arXiv:1802.04924).
#pragma once

#include <cstddef>
#include <vector>

namespace troika {

/// cost[a * options of `two` + b], if `one` takes option a and `two` option b.
struct PairCosts {
  std::size_t one = 0, two = 0;
  std::vector<double> cost;
};

struct ChoiceProblem {
  std::vector<std::vector<double>> cost;  ///< By choice and option; each has at least one option.
  std::vector<PairCosts> pairs{};         ///< Several of one pair add up.
};

struct ChosenOptions {
  std::vector<std::size_t> option;  ///< By choice.
  double cost = 0;
  /// Choices with more than two neighbours, fixed heuristically. None on series-parallel graphs,
  /// where the result is the optimum.
  int guessed = 0;
};

ChosenOptions choose_options(const ChoiceProblem& problem);

}  // namespace troika
