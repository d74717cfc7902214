// The least step that any plan with splits from the menus could have: what a plan is compared with
// to say how much could be left to gain.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "search/split_menus.h"
#include "search/tile_costs.h"

namespace troika {

struct PlanBounds {
  /// The least work of all operators, spread evenly over all devices.
  SimTime work{};
  /// The heaviest cycle of one step over the loop, with the fastest tiles: forward from an operator
  /// to the loss, and backward to the gradient of its parameters, which the next step needs. Along
  /// one chain of operators with what messages of the best splits take.
  SimTime cycle{};

  SimTime least() const { return std::max(work, cycle); }
  /// "work" or "cycle": which of the two binds.
  std::string binding() const { return work >= cycle ? "work" : "cycle"; }
};

/// Whether all devices compute equally fast, which bounds require.
bool has_equal_devices(const Machine& machine);

/// The least of each time over the menu of an operator; by device, that of any one split.
TileCost least_cost(const SplitMenus& menus, TileCosts& costs, std::size_t op);

/// Ignores updates, and what TileCosts::bound_of does not count. Messages count where menus are
/// short enough (search/path_bound.h).
PlanBounds find_bounds(const SplitMenus& menus, TileCosts& costs);

/// Least times of each operator.
struct ChainTimes {
  std::vector<SimTime> forward, backward, weight;

  explicit ChainTimes(std::size_t operators)
      : forward(operators), backward(operators), weight(operators) {}
  void set(std::size_t op, const TileCost& cost) {
    forward[op] = cost.forward;
    backward[op] = cost.backward;
    weight[op] = cost.weight;
  }
};

/// Finds the heaviest cycle of a step; for many times of one graph.
class LoopCycle {
 public:
  explicit LoopCycle(const IndexedGraph& index);

  SimTime heaviest(const ChainTimes& times) const;
  /// The operator of the loss, if there is one.
  std::optional<std::size_t> loss() const {
    return loss_ < 0 ? std::nullopt : std::optional(as_index(loss_));
  }
  /// Those readers of an operator from which there is a way to the loss.
  const std::vector<std::size_t>& readers(std::size_t op) const { return readers_[op]; }
  /// Whether it has parameters to update.
  bool is_trained(std::size_t op) const { return is_trained_[op]; }

 private:
  std::int64_t loss_ = -1;                         // operator
  std::vector<std::vector<std::size_t>> readers_;  // by operator: those on a way to the loss
  std::vector<bool> is_trained_;                   // by operator: it has parameters to update
};

}  // namespace troika
