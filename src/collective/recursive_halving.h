// Reduce-scatter of a power of two members: in each step a member and its peer split their common
// ranges, until each has only its own range left. Thakur, Rabenseifner and Gropp 2005,
// doi:10.1177/1094342005051521.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Begins with the farthest peer, so that adjacent ranges travel as one message. The tree order
/// begins with the nearest, which needs more messages.
MemberMoves recursive_halving_reduce_scatter(const CollectiveCall& call, int member);

}  // namespace troika
