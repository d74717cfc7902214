// Binomial trees: position v of the group has the children v + 1, v + 2, v + 4, … up to its own
// lowest bit. Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#include <algorithm>
#include <bit>

#include "collective/member_moves.h"

namespace troika {
namespace {

/// Number of positions in this member's subtree, which is also the distance to its parent: the
/// lowest set bit of its position.
int reach(const Group& group) {
  auto me = static_cast<unsigned>(group.me);
  auto size = static_cast<unsigned>(group.size());
  // The root has no lowest bit, and its subtree is everything.
  return static_cast<int>(me == 0 ? std::bit_ceil(size) : me & -me);
}

/// The slices of the `reach` positions from `position` on.
std::vector<Range> subtree(std::span<const Range> slices, int position, int reach) {
  auto first = slices.begin() + position;
  auto length = std::min<std::ptrdiff_t>(reach, slices.end() - first);
  return joined({first, first + length});
}

/// The ranges of the call in the order of the group's positions.
std::vector<Range> by_position(const CollectiveCall& call, const Group& group) {
  std::vector<Range> slices;
  for (int member : group.members) slices.push_back(call.ranges[static_cast<std::size_t>(member)]);
  return slices;
}

}  // namespace

// Near children first: they have the smaller subtrees and are done first, and combining in this
// order is the tree order.
void tree_reduce(MoveList& moves, const Group& group, Range elements) {
  int end = reach(group);
  for (int distance = 1; distance < end && group.me + distance < group.size(); distance *= 2)
    moves.receive_reduce(group.member(group.me + distance), vector_piece(elements));
  if (group.me != 0) moves.send(group.member(group.me - end), vector_piece(elements));
}

// Far children first: they have the larger subtrees, whose depth determines the time.
void tree_broadcast(MoveList& moves, const Group& group, Range elements) {
  int end = reach(group);
  if (group.me != 0) moves.receive(group.member(group.me - end), vector_piece(elements));
  for (int distance = end / 2; distance >= 1; distance /= 2) {
    if (group.me + distance < group.size())
      moves.send(group.member(group.me + distance), vector_piece(elements));
  }
}

// A member collects the slices of its subtree, which is a run of positions, and passes them on.
void tree_gather(MoveList& moves, const Group& group, std::span<const Range> slices) {
  int end = reach(group);
  for (int distance = 1; distance < end && group.me + distance < group.size(); distance *= 2) {
    int child = group.me + distance;
    for (Range range : subtree(slices, child, distance))
      moves.receive(group.member(child), vector_piece(range));
  }
  if (group.me == 0) return;
  for (Range range : subtree(slices, group.me, end))
    moves.send(group.member(group.me - end), vector_piece(range));
}

// Far children first, like tree_broadcast.
void tree_scatter(MoveList& moves, const Group& group, std::span<const Range> slices) {
  int end = reach(group);
  if (group.me != 0) {
    for (Range range : subtree(slices, group.me, end))
      moves.receive(group.member(group.me - end), vector_piece(range));
  }
  for (int distance = end / 2; distance >= 1; distance /= 2) {
    int child = group.me + distance;
    if (child >= group.size()) continue;
    for (Range range : subtree(slices, child, distance))
      moves.send(group.member(child), vector_piece(range));
  }
}

MemberMoves tree_all_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = everyone(call, member);
  tree_reduce(moves, group, {0, call.count});
  tree_broadcast(moves, group, {0, call.count});
  return std::move(moves).take();
}

MemberMoves tree_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  tree_reduce(moves, from_root(call, member), {0, call.count});
  return std::move(moves).take();
}

MemberMoves tree_broadcast(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  tree_broadcast(moves, from_root(call, member), {0, call.count});
  return std::move(moves).take();
}

MemberMoves tree_gather(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = from_root(call, member);
  tree_gather(moves, group, by_position(call, group));
  return std::move(moves).take();
}

MemberMoves tree_scatter(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = from_root(call, member);
  tree_scatter(moves, group, by_position(call, group));
  return std::move(moves).take();
}

}  // namespace troika
