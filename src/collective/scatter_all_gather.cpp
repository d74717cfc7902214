#include "collective/scatter_all_gather.h"

#include "collective/ring.h"
#include "collective/tree.h"

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
