// Devices that do the same: the coarsest equitable partition of devices, communications and links
// together, found before any task exists (docs/design.md, Folding).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.h"
#include "taskgraph/folded_graph.h"

namespace troika {

/// A device's part in a communication.
struct Membership {
  std::int32_t device = 0;
  /// Which of the device's parts in the aspect it is, the same number for the same part of devices
  /// that do the same.
  std::int32_t part = 0;

  bool operator==(const Membership&) const = default;
};

/// Communications of one aspect, all of one shape: kind, bytes, ranges.
struct Exchanges {
  std::uint64_t shape = 0;  ///< Equal for equal kinds, bytes and ranges.
  /// Members of all of them, one communication after the other.
  std::vector<Membership> members;
  std::vector<std::int32_t> ends;  ///< Where in `members` each communication ends.
};

/// One independent fact about what devices do: the tiles of one split, or the redistribution of one
/// tensor. Equal facts about different operators need to be given only once.
struct Aspect {
  /// By device: equal for devices that do the same here, whoever their partners are. Empty: all
  /// devices do the same.
  std::vector<std::uint64_t> own;
  std::vector<Exchanges> exchanges;
};

struct Partition {
  Classes devices;
  /// By link in one direction (cost/network.h): the first one of its class, which stands for it.
  /// -1: it carries nothing.
  std::vector<std::int32_t> links;

  bool operator==(const Partition&) const = default;
};

/// Colour refinement (Weisfeiler and Leman 1968). Devices start with the colour of their kind,
/// speeds and memory, and of all that the aspects say about them alone. In each round
/// - a communication's colour is its shape and the multisets of its members' colours and parts and
///   of the links that it crosses (lower/crossings.h);
/// - a link's colour, in each direction, is its speed, the colours of its ends, and the multiset of
///   what crosses it;
/// - a device's next colour is its last one, those of its links, the multisets of colours in its
///   node and in its process, and, part by part, its communications and who of their members is in
///   its node and process. A hub's is its last one and those of its links.
/// Rounds continue until no colour splits. Devices that take part in nothing and links that carry
/// nothing make no difference to others. Numbers and names of devices, nodes and processes and the
/// order of members make none either; only where links have cycles, routes follow that order.
///
/// Costs some 15 ns per membership and round; mostly one round is enough, but a chain of n halos
/// takes n / 2. Colours are 128-bit hashes, but what aspects say about devices alone comes as
/// 64-bit hashes. So an aspect that tells n devices apart takes two of them for equal with a
/// probability of n^2 / 2^65: for 9,216 devices 2e-12.
Partition find_partition(const Machine& machine, std::span<const Aspect* const> aspects);

/// Whether the aspects tell all devices apart without looking at their partners: each is a class of
/// its own then, whatever other aspects there are.
bool differ_alone(const Machine& machine, std::span<const Aspect* const> aspects);

/// One class per device: nothing is folded. For tests and for reading.
Classes one_class_each(std::size_t devices);
Partition one_class_each(const Machine& machine);

}  // namespace troika
