// Recursive halving, then recursive doubling: in step k of the first half two members at distance
// 2^k split their common range, and each reduces one half of it; the second half gathers the
// results in reverse order. Few messages, and optimal in bytes for a power of two members; others
// fold. Near members exchange the long messages, and contributions are combined as a tree.
// Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1.
#pragma once

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

MemberMoves rabenseifner_all_reduce(const CollectiveCall& call, int member);
/// Gathers the results at the root only.
MemberMoves rabenseifner_reduce(const CollectiveCall& call, int member);

/// A step of other algorithms.
void rabenseifner_all_reduce(MoveList& moves, const Group& group, Range elements);

}  // namespace troika
