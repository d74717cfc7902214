// What a recipe's moves promise about when they happen: an order in which all can begin and end,
// and for two moves whether one is surely done before the other begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/testing/pair_moves.h"

namespace troika {

/// The beginning or the end of a move.
struct MoveEvent {
  MoveAt at;
  bool end = false;
};

/// All events, each after what it waits for. Sends wait for their receiver to have taken all, as
/// they do where memory is shared. Stuck: a fault that names a move which can never begin or end.
struct EventOrder {
  std::vector<MoveEvent> events;
  std::optional<std::string> fault;
};

EventOrder order_events(const Recipe& recipe, const MovePairs& pairs);

/// Knows which moves are surely done when another begins. By `after` alone, which is quick, and if
/// that does not tell also through messages: what was done before a send began is done when its
/// receive is. A send that is done says nothing about its receiver, for it may have been buffered.
class DoneBefore {
 public:
  /// Keeps references.
  DoneBefore(const Recipe& recipe, const MovePairs& pairs, const EventOrder& order);

  /// Of the same member.
  bool ordered(int member, int first, int second);

 private:
  using Bits = std::vector<std::uint64_t>;

  void close_over_one(int member);
  void close_over_all();

  const Recipe& recipe_;
  const MovePairs& pairs_;
  const EventOrder& order_;
  int closed_member_ = -1;
  std::vector<Bits> local_;   // by move of that member: the earlier moves that are done
  std::vector<Bits> begins_;  // by move of all members
  std::vector<Bits> ends_;
  std::vector<std::size_t> first_;  // by member: number of its first move among all
};

}  // namespace troika
