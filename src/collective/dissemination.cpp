// Barrier: in step k every member signals the one 2^k positions ahead. Hensgen, Finkel and Manber
// 1988, doi:10.1007/BF01379320.
#include "collective/member_moves.h"

namespace troika {

MemberMoves dissemination_barrier(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = everyone(call, member);
  // After step k a member has heard, directly or not, of the 2^(k+1) members up to its own
  // position.
  for (int distance = 1; distance < call.members; distance *= 2) {
    moves.signal(group.member(member + distance));
    moves.await(group.member(member - distance));
  }
  return std::move(moves).take();
}

}  // namespace troika
