// Which links of the machine carry a communication, and how much of it in each direction.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lower/classes.h"

namespace troika {

struct Crossing {
  std::int32_t communication = 0;
  std::int32_t link = 0;
  /// From Link::a's side and from Link::b's: a sum of the scrambled parts of the members that send
  /// there, so equal for equally many members with the same parts.
  std::array<std::uint64_t, 2> sent{};

  bool operator==(const Crossing&) const = default;
};

struct Crossings {
  /// By communication. In a tree without the links that are the only one of a device: they carry
  /// exactly what the device takes part in, which is known anyway.
  std::vector<Crossing> crossings;
  std::vector<char> carries;  ///< By link, all of them: something crosses it.
};

/// `members` are those of all communications, one after the other; `ends` is where each one ends.
///
/// If the links form a tree, each link cuts the machine in two, and a communication crosses it if
/// it has members on both sides, whatever its algorithm. Otherwise it depends on the algorithm,
/// which is not chosen yet: then messages from each member to the next one in the list, wrapping
/// around, as in a ring, take the routes of machine/route.h.
Crossings find_crossings(const Machine& machine, std::span<const Membership> members,
                         std::span<const std::int32_t> ends);

}  // namespace troika
