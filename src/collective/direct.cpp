// All-reduce of members that share memory: member i combines slice i of all vectors and writes the
// result into all of them. One pass over memory; the only messages are loans; no scratch.
#include "collective/member_moves.h"

namespace troika {
namespace {

using ReduceBoth = void (MoveList::*)(Range elements);

MemberMoves direct(const CollectiveCall& call, int member, ReduceBoth reduce_both) {
  MoveList moves(call.segment);
  if (call.members == 1) return std::move(moves).take();
  Group group = everyone(call, member);
  Range mine = part_of(call.count, member, call.members);
  // Each member begins with its next neighbour, so that not all use the same member first.
  for (int step = 1; step < call.members; ++step) {
    int peer = group.member(member + step);
    moves.lend(peer, part_of(call.count, peer, call.members));
  }
  for (int step = 1; step < call.members; ++step) moves.borrow(group.member(member - step), mine);
  (moves.*reduce_both)(mine);
  for (int step = 1; step < call.members; ++step)
    moves.give_back(group.member(member - step), mine);
  return std::move(moves).take();
}

}  // namespace

MemberMoves direct_all_reduce(const CollectiveCall& call, int member) {
  return direct(call, member, &MoveList::reduce_both);
}

MemberMoves direct_streamed_all_reduce(const CollectiveCall& call, int member) {
  return direct(call, member, &MoveList::reduce_both_streamed);
}

}  // namespace troika
