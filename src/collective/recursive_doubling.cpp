// Butterfly exchange: in step k members at distance 2^k exchange all their data. Fewest messages,
// so best for small vectors. Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#include "collective/fold.h"
#include "collective/member_moves.h"

namespace troika {

// The peer's vector is received into scratch, because this member's vector must not change before
// the peer has read it.
MemberMoves recursive_doubling_all_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Range whole{0, call.count};
  Fold folded = fold(everyone(call, member));
  fold_in(moves, folded, whole);
  if (folded.works && folded.active.size() > 1) {
    Piece received = moves.new_scratch(call.count);
    for (int distance = 1; distance < folded.active.size(); distance *= 2) {
      int peer = folded.active.member(folded.active.me ^ distance);
      moves.send(peer, vector_piece(whole));
      moves.receive(peer, received);
      moves.reduce(vector_piece(whole), received);
    }
  }
  fold_out(moves, folded, whole);
  return std::move(moves).take();
}

// After each step a member has the ranges of an aligned block of twice as many members.
MemberMoves recursive_doubling_all_gather(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  auto block = [&](int first, int length) {
    return joined({call.ranges.begin() + first, call.ranges.begin() + first + length});
  };
  for (int distance = 1; distance < call.members; distance *= 2) {
    int peer = member ^ distance;
    int mine = member / distance * distance, theirs = peer / distance * distance;
    for (Range range : block(mine, distance)) moves.send(peer, vector_piece(range));
    for (Range range : block(theirs, distance)) moves.receive(peer, vector_piece(range));
  }
  return std::move(moves).take();
}

}  // namespace troika
