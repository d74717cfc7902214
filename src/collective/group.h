// Who takes part in a piece of an algorithm: all members of a call or some, in an order.
#pragma once

#include <vector>

#include "collective/recipe.h"

namespace troika {

struct Group {
  std::vector<int> members;
  int me = 0;  ///< Position in `members`.

  int size() const { return static_cast<int>(members.size()); }
  /// Any position, counted round the group.
  int member(int position) const;
};

Group everyone(const CollectiveCall& call, int member);
/// All, with the root at position 0 and trees of aligned positions over the same members as without
/// a root where their number is a power of two.
Group from_root(const CollectiveCall& call, int member);

/// Nearly equal parts of `whole`, the first ones larger by one where it does not divide.
std::vector<Range> slices_of(Range whole, int parts);

/// The ranges as few, in ascending order: neighbours joined, empty ones left out.
std::vector<Range> joined(std::vector<Range> ranges);

bool is_power_of_two(int number);
/// The largest power of two that is not above `number` (≥ 1).
int power_of_two_below(int number);

}  // namespace troika
