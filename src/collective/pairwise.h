// Every member exchanges with every other, one after the other, only the data that the two need.
// Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#pragma once

#include "collective/recipe.h"

namespace troika {

/// Needs no scratch; in the tree order, one range of scratch per level of the tree.
MemberMoves pairwise_reduce_scatter(const CollectiveCall& call, int member);
MemberMoves pairwise_all_to_all(const CollectiveCall& call, int member);

}  // namespace troika
