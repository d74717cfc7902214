// The heaviest cycle of a step along one chain of operators, bounded from below for all plans that
// agree on the splits of its first operators.
#pragma once

#include <span>
#include <vector>

#include "search/move_bounds.h"
#include "search/neighbour_split.h"
#include "search/split_menus.h"
#include "search/tile_costs.h"

namespace troika {

/// From the gradient of an operator's weights over the sum of its replicas, the next step's forward
/// pass to the loss, and backward to the operator: no period is shorter. Along a chain the parts of
/// that cycle depend on one split, or on two neighbouring ones, so that the least over all others
/// follows by dynamic programming. Ignores what find_bounds ignores; with several micro-batches,
/// messages as well. Borrows everything but the links.
class PathBound {
 public:
  PathBound(const SplitMenus& menus, TileCosts& costs, const LinkCosts& links);

  /// The chain with the heaviest least tiles, from a trained operator to the loss. Empty where
  /// menus have more than 200 splits.
  const std::vector<std::size_t>& path() const { return path_; }
  /// The least cycle if the first operators of the path have the splits at these places in their
  /// menus, and all others any.
  SimTime least(std::span<const std::size_t> chosen) const;

 private:
  struct Step {
    std::vector<SimTime> forward, backward, weight;  // by place in the menu
    std::vector<SimTime> sum;                        // of gradients, if it is trained
    std::vector<SimTime> rest;                       // the least way to the loss and back
    std::vector<SimTime> to_next;                    // there and back; row-major with the next menu
  };

  void find_path();
  void add_step(std::size_t op);
  SimTime sum_time(std::size_t op, const Split& split);
  std::vector<SimTime> times_between(const Neighbours& pair);
  void solve();
  SimTime between(std::size_t at, std::size_t own, std::size_t next) const;
  SimTime end_at(std::size_t at, std::size_t place) const;

  const SplitMenus& menus_;
  TileCosts& costs_;
  const IndexedGraph& index_;
  MoveBounds moves_;
  bool counts_messages_ = true;
  std::vector<std::size_t> path_;
  std::vector<Neighbours> pairs_;  // between neighbours on the path
  std::vector<Step> steps_;
  std::vector<SimTime> least_from_;  // by place on the path: over all plans, from there on
};

}  // namespace troika
