// The pure parts of lowering, kept by value: one per operator, split and phase, and one per edge
// and both its splits (docs/design.md, Lowering). When one split changes, only its own are made
// anew.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lower/redistribute.h"
#include "strategy/tiles.h"
#include "taskgraph/kernel_key.h"

namespace troika {

/// One phase of an operator on its tiles.
struct PhaseFragment {
  /// What one use of the phase is on each tile.
  struct UsePlaces {
    std::vector<Placed> places;
    /// For what is written: equal for tiles that write the same term of a sum, along the axes over
    /// which the phase makes partial sums (docs/design.md, Axes).
    std::vector<std::vector<std::int64_t>> terms;
  };

  std::vector<Tile> tiles;  ///< Those that do the same work on one device are there once.
  std::vector<UsePlaces> uses;
  std::vector<KernelKey> keys;                       ///< By tile.
  std::vector<std::vector<std::int64_t>> positions;  ///< By tile.
};

struct PhaseRequest {
  const Op& op;
  const Signature& signature;
  const PhaseSpec& phase;
  const Split& split;
  MicroBatch micro_batch;
};

PhaseFragment split_phase(const PhaseRequest& request);

/// Not thread-safe. Grows with what is asked; a search may clear it.
class FragmentCache {
 public:
  const PhaseFragment& phase(const PhaseRequest& request);
  const std::vector<Exchange>& exchanges(const Spread& have, const std::vector<Placed>& needs);
  const std::vector<Assembly>& assemblies(const Spread& have, const std::vector<Placed>& needs);

  /// How many were made, not found.
  std::size_t phases_made() const { return phases_.size(); }
  std::size_t edges_made() const { return exchanges_.size() + assemblies_.size(); }

 private:
  std::map<std::string, PhaseFragment> phases_;
  std::map<std::string, std::vector<Exchange>> exchanges_;
  std::map<std::string, std::vector<Assembly>> assemblies_;
};

}  // namespace troika
