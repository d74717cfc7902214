// Broadcast of long vectors: the root scatters slices along a binomial tree, then a ring
// all-gathers them. Chan, Heimlich, Purkayastha and van de Geijn 2007, doi:10.1002/cpe.1206.
#include "collective/member_moves.h"

namespace troika {

MemberMoves scatter_all_gather_broadcast(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = from_root(call, member);
  std::vector<Range> slices = slices_of({0, call.count}, call.members);
  tree_scatter(moves, group, slices);
  ring_all_gather(moves, group, slices);
  return std::move(moves).take();
}

}  // namespace troika
