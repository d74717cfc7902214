// Recursive halving of the vector, then the way back: in step k members at distance 2^k each take
// over one half of what they share. Few messages and optimal in bytes where the members are a power
// of two; the others fold. Near members exchange the long messages, and the combination is a tree.
// Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1.
#pragma once

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

MemberMoves rabenseifner_all_reduce(const CollectiveCall& call, int member);
/// The way back leads to the root only.
MemberMoves rabenseifner_reduce(const CollectiveCall& call, int member);

/// The same as part of other algorithms.
void rabenseifner_all_reduce(MoveList& moves, const Group& group, Range elements);

}  // namespace troika
