// Fewest messages for any number of members: blocks are packed into one message per step, at the
// price of copies. For small blocks. Bruck, Ho, Kipnis, Upfal and Weathersby 1997,
// doi:10.1109/71.642949.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Scratch for the whole vector.
MemberMoves bruck_all_gather(const CollectiveCall& call, int member);
/// Scratch for half the vector per step and once more.
MemberMoves bruck_all_to_all(const CollectiveCall& call, int member);

}  // namespace troika
