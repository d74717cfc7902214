// For tests and benchmarks: plans that change by random moves, as a search makes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "lower/planner.h"
#include "lower/testing/lowered.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"

namespace troika {

/// Strategies of which half are views and half explicit placements.
inline std::vector<Strategy> random_strategies(const Graph& graph, const Machine& machine) {
  std::vector<Strategy> all;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    all.push_back(random_view_strategy(graph, machine, seed));
    all.push_back(random_strategy(graph, machine, seed));
  }
  return all;
}

/// Each move gives one operator, or a run of a few, the splits that they have in one of these
/// strategies. The same for the same number.
inline std::vector<SplitChange> draw_move(const Graph& graph, const std::vector<Strategy>& others,
                                          std::uint64_t number) {
  RandomStream draws{.key = 1, .stream = number};
  const Strategy& other = others[draws.below(0, others.size())];
  std::uint64_t count = draws.below(1, 2) == 0 ? 1 : 2 + draws.below(2, 4);
  std::uint64_t first = draws.below(3, graph.operators.size());
  std::vector<SplitChange> changes;
  for (std::uint64_t at = first; at < std::min(first + count, graph.operators.size()); ++at)
    changes.push_back({static_cast<std::int32_t>(at), split_of(other, graph.operators[at].name)});
  return changes;
}

/// A model trained with momentum, and a planner of it under the model's strategy. Kernels take 1 to
/// 30 us, each another time.
class RandomWalk {
 public:
  explicit RandomWalk(Lowered model) : model_(std::move(model)) {
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      if (parameter.trained && !parameter.state)
        model_.optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    request_ = model_.request();
    request_.outputs.clear();
    planner_.emplace(request_, table_);
    while (std::optional<PlanRefusal> refusal = planner_->plan()) add_rows(*refusal);
    others_ = random_strategies(model_.graph, model_.machine);
  }

  Planner& planner() { return *planner_; }
  const FoldedGraph& graph() const { return planner_->graph(); }
  /// With a table that has all rows of the plans so far.
  const LowerRequest& request() const { return request_; }
  const KernelTable& table() const { return table_; }
  /// Moves go to the splits of these from now on, and not to those of random_strategies.
  void go_to(std::vector<Strategy> others) { others_ = std::move(others); }
  std::vector<SplitChange> draw(std::uint64_t number) const {
    return draw_move(model_.graph, others_, number);
  }

  /// Changes the plan. False: it would be infeasible, and stays as it is.
  bool change(const std::vector<SplitChange>& changes) {
    while (std::optional<PlanRefusal> refusal = planner_->change(changes)) {
      if (std::holds_alternative<Infeasible>(*refusal)) return false;
      add_rows(*refusal);
    }
    return true;
  }

 private:
  void add_rows(const PlanRefusal& refusal) {
    const std::vector<KernelRequest>& rows = std::get<MissingRows>(refusal).rows;
    table_ = model_.kernels.answer(rows, table_);
    for (const KernelRequest& row : rows) {
      std::vector<Candidate> candidates = *table_.find(row.kind, row.key);
      for (Candidate& candidate : candidates)
        candidate.time = SimTime{1000 + static_cast<std::int64_t>(hash(row.key) % 29'000)};
      table_.insert(row, std::move(candidates));
    }
  }

  Lowered model_;
  LowerRequest request_;
  KernelTable table_;
  std::optional<Planner> planner_;
  std::vector<Strategy> others_;
};

}  // namespace troika
