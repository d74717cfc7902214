// Devices that do the same: the coarsest equitable partition of devices, communications and links
// together, found before any task exists (docs/design.md, Folding).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.h"

namespace troika {

/// A number out of a compact list, as an index.
constexpr std::size_t as_index(std::int32_t number) { return static_cast<std::size_t>(number); }

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
  /// By device: equal if two devices do the same here, their partners apart. Empty: all devices do
  /// the same.
  std::vector<std::uint64_t> own;
  std::vector<Exchanges> exchanges;
};

struct Classes {
  std::vector<std::int32_t> of_device;  ///< By device. Numbered by the first device of each class.
  std::vector<std::int32_t> first;      ///< By class: its first device.
  std::vector<std::int32_t> size;       ///< By class.

  std::int32_t count() const { return static_cast<std::int32_t>(first.size()); }
  bool operator==(const Classes&) const = default;
};

/// Colour refinement (Weisfeiler and Leman 1968; as fast as needed, since it settles in a few
/// rounds): devices start with the colour of their kind and of all that the aspects say about them
/// alone. A communication's colour is its shape and the multiset of its members' colours and parts,
/// with how its members are spread over processes and nodes; a link's colour is its speed, what it
/// joins and the multiset of what crosses it. A device's next colour is its last one, its links'
/// and, part by part, those of its communications. Rounds go on until no colour splits.
///
/// Costs a few nanoseconds per membership and round. Colours are 128-bit hashes, so two classes
/// that differ meet with a probability below 2^-64 for any number of devices here.
Classes find_classes(const Machine& machine, std::span<const Aspect* const> aspects);

/// One class per device: nothing is folded. For tests and for reading.
Classes one_class_each(std::size_t devices);

}  // namespace troika
