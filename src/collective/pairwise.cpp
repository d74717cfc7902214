// Every member exchanges with every other, one after the other, only the data that the two need.
// Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521.
#include <map>

#include "collective/member_moves.h"

namespace troika {
namespace {

/// Receives the contributions of an aligned block of members and combines them as a tree.
class TreeReceiver {
 public:
  TreeReceiver(MoveList& moves, const CollectiveCall& call, int member)
      : moves_(moves), call_(call), member_(member) {}

  void run() {
    // This member is a leaf of the tree: on each level it is combined with its sibling block, whose
    // members are this ^ distance up to this ^ (2 distance - 1).
    for (int distance = 1; distance < call_.members; distance *= 2)
      combine_block(distance, distance, vector_piece(range_of(member_)));
  }

 private:
  Range range_of(int member) const { return call_.ranges[static_cast<std::size_t>(member)]; }

  /// Combines `to` with the contributions of the members this ^ first … this ^ (first + size - 1).
  void combine_block(int first, int size, Piece to) {
    if (size == 1) {
      moves_.send(member_ ^ first, vector_piece(range_of(member_ ^ first)));
      moves_.receive_reduce(member_ ^ first, to);
      return;
    }
    if (!sums_.contains(size)) sums_[size] = moves_.new_scratch(to.elements.extent());
    receive_block(first, size, sums_[size]);
    moves_.reduce(to, sums_[size]);
  }

  /// The same, but stores instead of combining.
  void receive_block(int first, int size, Piece to) {
    if (size == 1) {
      moves_.send(member_ ^ first, vector_piece(range_of(member_ ^ first)));
      moves_.receive(member_ ^ first, to);
      return;
    }
    // The two halves of a block are siblings: the first is stored, the second combined with it.
    receive_block(first, size / 2, to);
    combine_block(first + size / 2, size / 2, to);
  }

  MoveList& moves_;
  const CollectiveCall& call_;
  int member_;
  std::map<int, Piece> sums_;  // by block size; at most one block of each size is incomplete
};

}  // namespace

MemberMoves pairwise_reduce_scatter(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  if (call.order == CombineOrder::tree) {
    TreeReceiver(moves, call, member).run();
    return std::move(moves).take();
  }
  Group group = everyone(call, member);
  // In step k member m sends to m + k and receives from m - k: each port has one message at a time.
  Piece mine = vector_piece(call.ranges[static_cast<std::size_t>(member)]);
  for (int step = 1; step < call.members; ++step) {
    int to = group.member(member + step), from = group.member(member - step);
    moves.send(to, vector_piece(call.ranges[static_cast<std::size_t>(to)]));
    moves.receive_reduce(from, mine);
  }
  return std::move(moves).take();
}

MemberMoves pairwise_all_to_all(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = everyone(call, member);
  auto block = [&](int of) { return call.ranges[static_cast<std::size_t>(of)]; };
  moves.copy(vector_piece(block(member)), input_piece(block(member)));
  for (int step = 1; step < call.members; ++step) {
    int to = group.member(member + step), from = group.member(member - step);
    moves.send(to, input_piece(block(to)));
    moves.receive(from, vector_piece(block(from)));
  }
  return std::move(moves).take();
}

}  // namespace troika
