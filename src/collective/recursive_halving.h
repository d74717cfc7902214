// Reduce-scatter of a power of two members: in each step what I still have is halved between me and
// a peer, until only my own range is left. Thakur, Rabenseifner and Gropp 2005,
// doi:10.1177/1094342005051521.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Starts with the farthest peer, where neighbouring ranges travel as one message; in the tree
/// order with the nearest, where they do not.
MemberMoves recursive_halving_reduce_scatter(const CollectiveCall& call, int member);

}  // namespace troika
