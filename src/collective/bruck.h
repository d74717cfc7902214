// Fewest messages for any number of members: blocks are packed into one message per step, which
// costs copies. For small blocks. Bruck, Ho, Kipnis, Upfal and Weathersby 1997,
// doi:10.1109/71.642949.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Needs scratch for the whole vector.
MemberMoves bruck_all_gather(const CollectiveCall& call, int member);
/// Needs scratch for half the vector per step, and once more for packing.
MemberMoves bruck_all_to_all(const CollectiveCall& call, int member);

}  // namespace troika
