#include "collective/dissemination.h"

#include "collective/group.h"
#include "collective/move_list.h"

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
