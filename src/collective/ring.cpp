// Rings: each member sends to the next and receives from the previous one only. Optimal in
// bytes for any number of members. Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
#include "collective/member_moves.h"

namespace troika {
namespace {

Piece slice_at(std::span<const Range> slices, int position) {
  int size = static_cast<int>(slices.size());
  return vector_piece(slices[static_cast<std::size_t>((position % size + size) % size)]);
}

}  // namespace

// The partial sum of slice i starts at the member after its owner and travels once around the ring;
// every member adds its contribution, the owner last. In each step all members send at once.
void ring_reduce_scatter(MoveList& moves, const Group& group, std::span<const Range> slices) {
  int next = group.member(group.me + 1), before = group.member(group.me - 1);
  for (int step = 1; step < group.size(); ++step) {
    moves.send(next, slice_at(slices, group.me - step));
    moves.receive_reduce(before, slice_at(slices, group.me - step - 1));
  }
}

// Each member forwards the slice that it received in the previous step, beginning with its own.
void ring_all_gather(MoveList& moves, const Group& group, std::span<const Range> slices) {
  int next = group.member(group.me + 1), before = group.member(group.me - 1);
  for (int step = 0; step < group.size() - 1; ++step) {
    moves.send(next, slice_at(slices, group.me - step));
    moves.receive(before, slice_at(slices, group.me - step - 1));
  }
}

MemberMoves ring_all_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = everyone(call, member);
  std::vector<Range> slices = slices_of({0, call.count}, call.members);
  ring_reduce_scatter(moves, group, slices);
  ring_all_gather(moves, group, slices);
  return std::move(moves).take();
}

MemberMoves ring_reduce_scatter(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  ring_reduce_scatter(moves, everyone(call, member), call.ranges);
  return std::move(moves).take();
}

MemberMoves ring_all_gather(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  ring_all_gather(moves, everyone(call, member), call.ranges);
  return std::move(moves).take();
}

}  // namespace troika
