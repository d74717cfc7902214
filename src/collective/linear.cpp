// The root exchanges with each member directly, one after the other.
#include "collective/member_moves.h"

namespace troika {

MemberMoves linear_gather(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  auto range = [&](int of) { return vector_piece(call.ranges[static_cast<std::size_t>(of)]); };
  if (member != call.root) {
    moves.send(call.root, range(member));
    return std::move(moves).take();
  }
  Group group = from_root(call, member);
  for (int position = 1; position < group.size(); ++position)
    moves.receive(group.member(position), range(group.member(position)));
  return std::move(moves).take();
}

MemberMoves linear_scatter(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  auto range = [&](int of) { return vector_piece(call.ranges[static_cast<std::size_t>(of)]); };
  if (member != call.root) {
    moves.receive(call.root, range(member));
    return std::move(moves).take();
  }
  Group group = from_root(call, member);
  for (int position = 1; position < group.size(); ++position)
    moves.send(group.member(position), range(group.member(position)));
  return std::move(moves).take();
}

}  // namespace troika
