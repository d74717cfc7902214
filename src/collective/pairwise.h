// Every member exchanges with every other, one after the other, only what the two need of each
// other. Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Without scratch; in the tree order with as many ranges of scratch as the tree is deep.
MemberMoves pairwise_reduce_scatter(const CollectiveCall& call, int member);
MemberMoves pairwise_all_to_all(const CollectiveCall& call, int member);

}  // namespace troika
