// The members that take part in a step of an algorithm: all of a call or some, in an order.
#pragma once

#include <vector>

#include "collective/recipe.h"

namespace troika {

struct Group {
  std::vector<int> members;
  int me = 0;  ///< Position in `members`.

  int size() const { return static_cast<int>(members.size()); }
  /// Any position is valid: it wraps around.
  int member(int position) const;
};

Group everyone(const CollectiveCall& call, int member);
/// All members, with the root at position 0. For a power of two, subtrees of aligned positions hold
/// the same members for every root, which keeps the tree order.
Group from_root(const CollectiveCall& call, int member);

/// Nearly equal parts of `whole`; the first ones are longer by one if it does not divide evenly.
std::vector<Range> slices_of(Range whole, int parts);

/// The ranges in ascending order, adjacent ones joined and empty ones removed.
std::vector<Range> joined(std::vector<Range> ranges);

bool is_power_of_two(int number);
/// The largest power of two that is not above `number` (≥ 1).
int power_of_two_below(int number);

}  // namespace troika
