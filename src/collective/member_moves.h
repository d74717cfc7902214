// The moves of one member under each algorithm, listed with its conditions in algorithms.cpp. The
// functions of an algorithm are defined in the source of its name, which explains it and cites the
// paper.
#pragma once

#include <span>
#include <vector>

#include "collective/group.h"
#include "collective/move_list.h"

namespace troika {

// direct.cpp
/// Combines in the order of the members, which equals the tree order for two members only.
MemberMoves direct_all_reduce(const CollectiveCall& call, int member);

/// The same with non-temporal stores: faster for long vectors on some processors, several times
/// slower on others.
MemberMoves direct_streamed_all_reduce(const CollectiveCall& call, int member);

// recursive_doubling.cpp
/// Members beyond a power of two fold. Without them, contributions are combined as a tree.
MemberMoves recursive_doubling_all_reduce(const CollectiveCall& call, int member);
/// Needs a power of two members.
MemberMoves recursive_doubling_all_gather(const CollectiveCall& call, int member);

// rabenseifner.cpp
MemberMoves rabenseifner_all_reduce(const CollectiveCall& call, int member);
/// Gathers the results at the root only.
MemberMoves rabenseifner_reduce(const CollectiveCall& call, int member);

/// A step of other algorithms.
void rabenseifner_all_reduce(MoveList& moves, const Group& group, Range elements);

// ring.cpp
MemberMoves ring_all_reduce(const CollectiveCall& call, int member);
MemberMoves ring_reduce_scatter(const CollectiveCall& call, int member);
MemberMoves ring_all_gather(const CollectiveCall& call, int member);

// Steps of other algorithms: slices[i] belongs to position i of the group.
void ring_reduce_scatter(MoveList& moves, const Group& group, std::span<const Range> slices);
void ring_all_gather(MoveList& moves, const Group& group, std::span<const Range> slices);

// hierarchical.cpp
/// Nodes may have different numbers of members: there are as many slices as the smallest node has
/// members.
MemberMoves hierarchical_all_reduce(const CollectiveCall& call, int member);

/// The members of each node, or of each process if there is one node.
std::vector<std::vector<int>> inner_groups(const CollectiveCall& call);

// tree.cpp
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

// scatter_all_gather.cpp
MemberMoves scatter_all_gather_broadcast(const CollectiveCall& call, int member);

// recursive_halving.cpp
/// Begins with the farthest peer, so that adjacent ranges travel as one message. The tree order
/// begins with the nearest, which needs more messages.
MemberMoves recursive_halving_reduce_scatter(const CollectiveCall& call, int member);

// pairwise.cpp
/// Needs no scratch; in the tree order, one range of scratch per level of the tree.
MemberMoves pairwise_reduce_scatter(const CollectiveCall& call, int member);
MemberMoves pairwise_all_to_all(const CollectiveCall& call, int member);

// bruck.cpp
/// Needs scratch for the whole vector.
MemberMoves bruck_all_gather(const CollectiveCall& call, int member);
/// Needs scratch for half the vector per step, and once more for packing.
MemberMoves bruck_all_to_all(const CollectiveCall& call, int member);

// linear.cpp
MemberMoves linear_gather(const CollectiveCall& call, int member);
MemberMoves linear_scatter(const CollectiveCall& call, int member);

// dissemination.cpp
MemberMoves dissemination_barrier(const CollectiveCall& call, int member);

}  // namespace troika
