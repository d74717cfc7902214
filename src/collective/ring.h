// Rings: each member sends to the next and receives from the previous one only. Optimal in
// bytes for any number of members. Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
#pragma once

#include <span>

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

MemberMoves ring_all_reduce(const CollectiveCall& call, int member);
MemberMoves ring_reduce_scatter(const CollectiveCall& call, int member);
MemberMoves ring_all_gather(const CollectiveCall& call, int member);

// Steps of other algorithms: slices[i] belongs to position i of the group.
void ring_reduce_scatter(MoveList& moves, const Group& group, std::span<const Range> slices);
void ring_all_gather(MoveList& moves, const Group& group, std::span<const Range> slices);

}  // namespace troika
