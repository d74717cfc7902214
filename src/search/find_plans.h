// Looks for the strategy with the shortest predicted step: ready plans and dynamic programming
// first, then Markov chains from the best of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "search/chain.h"
#include "search/exhaustive.h"
#include "search/plan_bounds.h"

namespace troika {

struct SearchStatus {
  std::int64_t proposed = 0, wanted = 0;  ///< `wanted` 0: as many as there is time for.
  double seconds = 0;
  std::optional<double> left{};  ///< Seconds, where there is a limit of time.
  SimTime best{};
  std::optional<SimTime> data_parallel{};
};

/// A plan to begin with.
struct NamedStrategy {
  std::string name;
  Strategy strategy;
};

struct PlanSearchOptions {
  std::vector<NamedStrategy> first{};  ///< Their splits count. Dynamic programming adds others.
  std::uint64_t seed = 1;
  /// Of all chains together; 0: only the first plans are scored. With a limit of time instead, the
  /// result depends on the computer.
  std::int64_t proposals = 20'000;
  std::optional<double> seconds{};
  int threads = 1;  ///< That run chains. The result does not depend on it.
  std::size_t kept = 5;
  std::optional<MenuOptions> space{};  ///< That chains walk in; unset: that of search_menus.
  /// Also tries or excludes every strategy of the space, for a proof that none is better.
  bool tries_all = false;
  std::function<void(const SearchStatus&)> report{};  ///< Called by one thread at a time.
  /// True: end with what has been found. Called by several threads.
  std::function<bool()> stop_requested{};
};

/// A plan that a search began with.
struct SearchSeed {
  std::string name;
  std::optional<SimTime> period{};
  std::string why_not{};  ///< If it has no period: infeasible, or too large for the memory.
  double seconds = 0;     ///< That it took to plan and simulate it.
};

struct FoundPlan {
  std::string origin;  ///< "data", "dynamic programming", "search".
  Strategy strategy;
  SimTime period{};
};

struct FoundPlans {
  std::vector<FoundPlan> plans;  ///< Different ones, the shortest period first.
  std::vector<SearchSeed> seeds;
  std::array<MoveCount, kSplitMoveKinds> moves{};
  std::int64_t proposed = 0;
  double log10_size = 0;               ///< Of the space that chains walk in.
  std::optional<PlanBounds> bounds{};  ///< Unset if devices are not equally fast, or very many.
  std::optional<Certificate> proof{};  ///< If all strategies were asked for, and there was time.
  std::optional<std::int64_t> unproved{};  ///< How many were simulated before it was given up.
  bool was_stopped = false;

  const SearchSeed* seed(std::string_view name) const;
};

/// No plan fits into the memory of the devices.
struct NoPlan {
  std::string reason;
};

/// Searches splits for the request, whose strategy gives everything else: micro-batches, how
/// gradients travel. With equal requests, kernels, seeds and proposals the plans are the same, on
/// any number of threads.
[[nodiscard]] std::variant<FoundPlans, NoPlan> find_plans(const LowerRequest& request,
                                                          const ScoringKernels& kernels,
                                                          const PlanSearchOptions& options);

}  // namespace troika
