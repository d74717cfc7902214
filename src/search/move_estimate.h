// A quick estimate of what it takes to bring a tensor from where it is to where it is needed, for
// searches that look at pairs of splits. Plans are compared by simulation, never by this.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cost/link_costs.h"
#include "graph/indexed_graph.h"
#include "strategy/strategy.h"

namespace troika {

/// The parts of a tensor that each device has, or needs.
struct Holding {
  std::vector<std::vector<Region>> of_device;
  /// Each element is a sum of so many terms on different devices.
  std::int64_t terms = 1;
  std::uint64_t hash = 0;

  bool operator==(const Holding& other) const {
    return terms == other.terms && of_device == other.of_device;
  }
};

/// Keeps what it has computed, by number. Used by one thread. Borrows index, machine and costs.
class MoveEstimates {
 public:
  using HoldingId = std::int32_t;
  MoveEstimates(const IndexedGraph& index, const Machine& machine, const LinkCosts& costs);

  /// What the tiles of an operator touch of a slot. `is_partial`: they write it, or its gradient,
  /// as terms of a sum over the cuts that the slot lacks.
  HoldingId holding_of(std::size_t op, int slot, const Split& split, bool is_partial);

  const Holding& operator[](HoldingId id) const { return holdings_[as_index(id)]; }

  /// Nanoseconds for elements of so many bytes.
  double move_time(HoldingId from, HoldingId to, Bytes element);
  /// Adding up a gradient on all devices that have the same part of a parameter, and giving all of
  /// them the sum.
  double sum_time(HoldingId held, Bytes element);

 private:
  struct Need {
    double process = 0, node = 0, network = 0;  // elements
  };
  Need needed_by(std::size_t device, const Holding& from, const Holding& to) const;
  double time_of(LinkKind kind, double bytes) const;

  const IndexedGraph& index_;
  const Machine& machine_;
  const LinkCosts& costs_;
  std::vector<std::vector<std::size_t>> nodes_;  // their devices
  std::vector<Holding> holdings_;
  std::unordered_multimap<std::uint64_t, HoldingId> by_hash_;
  std::unordered_map<std::uint64_t, double> moves_, sums_;  // by ids
};

}  // namespace troika
