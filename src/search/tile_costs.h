// Cost of an operator under one split: its kernels only.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lower/outline.h"
#include "search/scoring_kernels.h"
#include "strategy/tiles.h"

namespace troika {

struct TileCost {
  /// Of the device with the most: all phases of all its tiles.
  SimTime busiest{};
  // The following count the shortest tile for each, and each tile once per phase and device for
  // each set of axes that the phase runs along: no plan with this split computes less.
  std::vector<SimTime> of_device{};
  SimTime work{};  ///< Of all devices together, each tile once.
  /// One tile: no plan with this split has a shorter chain there. `weight` is what backward takes
  /// for gradients of parameters only.
  SimTime forward{}, backward{}, weight{};
};

/// Keeps what it has computed. Borrows everything. Used by one thread.
class TileCosts {
 public:
  TileCosts(const IndexedGraph& index, const LowerRequest& request, const ScoringKernels& kernels);

  /// For a feasible split of a layer in one piece. Of a kind of device: the first of the machine.
  const TileCost& of(std::size_t op, const Split& split);
  /// A lower bound of the cost. Zero for layers that are cut over time, and for operators that may
  /// be fused into their predecessor: the kernel of both is taken to need at least as long as that
  /// of the first alone.
  const TileCost& bound_of(std::size_t op, const Split& split);
  /// The time of one kernel on the first device of the machine.
  SimTime time_of(const KernelKey& key);
  const IndexedGraph& index() const { return index_; }
  const LowerRequest& request() const { return request_; }

 private:
  KernelKey key_of(std::size_t op, const Region& box, Phase phase) const;
  TileCost find(std::size_t op, const Split& split);
  void add_phase(const TileMap& tiles, const PhaseSpec& phase, std::size_t op, TileCost& cost);

  const IndexedGraph& index_;
  const LowerRequest& request_;
  const ScoringKernels& kernels_;
  Outline outline_;
  std::unordered_map<std::string, SimTime> times_;   // by the text of the key
  std::vector<std::int32_t> kind_of_;                // by operator: equal numbers for equal costs
  std::unordered_map<std::string, TileCost> known_;  // by kind of operator and split
  TileCost none_;
};

}  // namespace troika
