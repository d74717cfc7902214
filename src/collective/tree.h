// Binomial trees: position v of the group has the children v + 1, v + 2, v + 4, … up to its own
// lowest bit. Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#pragma once

#include <span>

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

MemberMoves tree_all_reduce(const CollectiveCall& call, int member);
MemberMoves tree_reduce(const CollectiveCall& call, int member);
MemberMoves tree_broadcast(const CollectiveCall& call, int member);
MemberMoves tree_gather(const CollectiveCall& call, int member);
MemberMoves tree_scatter(const CollectiveCall& call, int member);

// Steps of other algorithms; the root is position 0, slices[i] belongs to position i.
void tree_reduce(MoveList& moves, const Group& group, Range elements);
void tree_broadcast(MoveList& moves, const Group& group, Range elements);
void tree_gather(MoveList& moves, const Group& group, std::span<const Range> slices);
void tree_scatter(MoveList& moves, const Group& group, std::span<const Range> slices);

}  // namespace troika
