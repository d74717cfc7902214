#include "search/elimination.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace troika {
namespace {

/// Random costs on a graph of choices with these edges.
ChoiceProblem random_problem(std::size_t choices,
                             const std::vector<std::pair<std::size_t, std::size_t>>& edges,
                             std::uint64_t seed) {
  RandomStream draws{.key = seed};
  std::uint64_t next = 0;
  ChoiceProblem problem;
  for (std::size_t at = 0; at < choices; ++at) {
    problem.cost.emplace_back();
    for (std::uint64_t option = 0; option < 2 + draws.below(next++, 3); ++option)
      problem.cost.back().push_back(draws.uniform(1000 + 4 * next++));
  }
  for (auto [one, two] : edges) {
    PairCosts pair{one, two, {}};
    for (std::size_t at = 0; at < problem.cost[one].size() * problem.cost[two].size(); ++at)
      pair.cost.push_back(draws.uniform(1000 + 4 * next++));
    problem.pairs.push_back(std::move(pair));
  }
  return problem;
}

double cost_of(const ChoiceProblem& problem, const std::vector<std::size_t>& option) {
  double sum = 0;
  for (std::size_t at = 0; at < option.size(); ++at) sum += problem.cost[at][option[at]];
  for (const PairCosts& pair : problem.pairs)
    sum += pair.cost[option[pair.one] * problem.cost[pair.two].size() + option[pair.two]];
  return sum;
}

double least_cost(const ChoiceProblem& problem) {
  std::vector<std::size_t> option(problem.cost.size());
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    least = std::min(least, cost_of(problem, option));
    std::size_t at = 0;
    while (at < option.size() && ++option[at] == problem.cost[at].size()) option[at++] = 0;
    if (at == option.size()) return least;
  }
}

void expect_optimum(const ChoiceProblem& problem) {
  ChosenOptions chosen = choose_options(problem);
  EXPECT_EQ(chosen.guessed, 0);
  EXPECT_NEAR(chosen.cost, least_cost(problem), 1e-9);
  EXPECT_NEAR(cost_of(problem, chosen.option), chosen.cost, 1e-9);
}

TEST(Elimination, FindsTheOptimumOfChains) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    expect_optimum(random_problem(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}, seed));
}

TEST(Elimination, FindsTheOptimumOfBranchesThatJoin) {
  // A residual block inside one branch of another, and a choice that stands alone.
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    expect_optimum(
        random_problem(8, {{0, 1}, {1, 2}, {2, 3}, {1, 3}, {3, 4}, {0, 5}, {5, 4}, {4, 6}}, seed));
}

TEST(Elimination, AddsUpSeveralCostsOfOnePair) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    expect_optimum(random_problem(4, {{0, 1}, {1, 0}, {0, 1}, {1, 2}, {2, 2}, {2, 3}}, seed));
}

TEST(Elimination, GuessesWhereEveryChoiceHasManyNeighbours) {
  ChoiceProblem problem = random_problem(
      5, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}, 3);
  ChosenOptions chosen = choose_options(problem);
  EXPECT_GT(chosen.guessed, 0);
  EXPECT_NEAR(cost_of(problem, chosen.option), chosen.cost, 1e-9);
  EXPECT_LT(chosen.cost, 1.5 * least_cost(problem));
}

}  // namespace
}  // namespace troika
