// The least time that any plan needs to bring a tensor from where it is to where it is needed.
#pragma once

#include <vector>

#include "cost/network.h"
#include "search/move_estimate.h"

namespace troika {

/// The parts of a tensor that tiles hold.
struct TileHolding {
  MoveEstimates::HoldingId id = 0;
  /// No device has two tiles, so one that is to have a sum of several terms lacks some of them.
  bool is_spread = true;
};

/// Counts what must come into a device, or into a computer, over the links that lead there. Used by
/// one thread. Borrows index and machine.
class MoveBounds {
 public:
  MoveBounds(const IndexedGraph& index, const Machine& machine, const LinkCosts& links);

  /// As MoveEstimates::holding_of.
  TileHolding holding_of(std::size_t op, int slot, const Split& split, bool is_partial);
  /// The least time from the end of the first tile that writes the tensor to the begin of the first
  /// one that reads it, on whichever device that is.
  SimTime move_time(const TileHolding& from, const TileHolding& to, Bytes element);

 private:
  struct Lacking {
    double device = 0, node = 0;  // elements that are in no other place there
  };
  Lacking lacking(std::size_t device, const TileHolding& from, const TileHolding& to) const;
  SimTime find(const TileHolding& from, const TileHolding& to, Bytes element) const;

  const IndexedGraph& index_;
  const Machine& machine_;
  MoveEstimates holdings_;
  // Nanoseconds per byte over all links that lead into it; 0: not limited by known links.
  std::vector<double> into_device_, into_node_;
  std::unordered_map<std::uint64_t, SimTime> known_;  // by ids
};

}  // namespace troika
