// Reduce-scatter of a power of two members: in each step a member and its peer split their common
// ranges, until each has only its own range left. Thakur, Rabenseifner and Gropp 2005,
// doi:10.1177/1094342005051521.
#include "collective/member_moves.h"

namespace troika {
namespace {

/// The ranges of the members whose number has these bits in common with `member`.
std::vector<Range> ranges_like(const CollectiveCall& call, int member, int bits) {
  std::vector<Range> ranges;
  for (int other = 0; other < call.members; ++other) {
    if ((other & bits) == (member & bits))
      ranges.push_back(call.ranges[static_cast<std::size_t>(other)]);
  }
  return joined(std::move(ranges));
}

}  // namespace

MemberMoves recursive_halving_reduce_scatter(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  // After a step, this member is responsible for the members that agree with it in the decided
  // bits.
  int decided = 0;
  for (int step = 1; step < call.members; step *= 2) {
    int distance = call.order == CombineOrder::tree ? step : call.members / 2 / step;
    decided |= distance;
    int peer = member ^ distance;
    for (Range range : ranges_like(call, peer, decided)) moves.send(peer, vector_piece(range));
    for (Range range : ranges_like(call, member, decided))
      moves.receive_reduce(peer, vector_piece(range));
  }
  return std::move(moves).take();
}

}  // namespace troika
