// Fewest messages for any number of members: blocks are packed into one message per step, which
// costs copies. For small blocks. Bruck, Ho, Kipnis, Upfal and Weathersby 1997,
// doi:10.1109/71.642949.
#include <algorithm>

#include "collective/member_moves.h"

namespace troika {
namespace {

Piece part(Piece whole, std::int64_t offset, std::int64_t length) {
  std::int64_t begin = whole.elements.begin + offset;
  return {whole.space, {begin, begin + length}};
}

}  // namespace

// The scratch holds the ranges of this member, the next one and so on. Their number doubles in each
// step; at the end they are copied to their places in the vector.
MemberMoves bruck_all_gather(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  if (call.members == 1) return std::move(moves).take();
  Group group = everyone(call, member);
  auto range = [&](int step) {
    return call.ranges[static_cast<std::size_t>(group.member(member + step))];
  };
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(call.ranges.size() + 1);
  for (int step = 0; step < call.members; ++step)
    offsets.push_back(offsets.back() + range(step).extent());
  Piece gathered = moves.new_scratch(offsets.back());
  auto steps = [&](std::ptrdiff_t first, std::ptrdiff_t count) {
    std::int64_t begin = offsets.begin()[first];
    return part(gathered, begin, offsets.begin()[first + count] - begin);
  };

  moves.copy(steps(0, 1), vector_piece(range(0)));
  for (int distance = 1; distance < call.members; distance *= 2) {
    int count = std::min(distance, call.members - distance);
    moves.send(group.member(member - distance), steps(0, count));
    moves.receive(group.member(member + distance), steps(distance, count));
  }
  for (int step = 1; step < call.members; ++step)
    moves.copy(vector_piece(range(step)), steps(step, 1));
  return std::move(moves).take();
}

// A block for the member `ahead` positions ahead travels by the binary digits of that distance: in
// the step of each set bit. blocks[ahead] is therefore at first this member's own block, and at
// last the one from the member that far behind.
MemberMoves bruck_all_to_all(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  Group group = everyone(call, member);
  std::int64_t length = call.ranges[0].extent();
  auto range = [&](int of) { return call.ranges[static_cast<std::size_t>(group.member(of))]; };
  std::vector<Piece> blocks;  // where each is now
  blocks.reserve(call.ranges.size());
  for (int ahead = 0; ahead < call.members; ++ahead)
    blocks.push_back(input_piece(range(member + ahead)));

  Piece packed = moves.new_scratch(length * (call.members / 2));
  for (int distance = 1; distance < call.members; distance *= 2) {
    std::vector<Piece*> travelling;
    for (int ahead = distance; ahead < call.members; ++ahead) {
      if ((ahead & distance) != 0) travelling.push_back(&blocks[static_cast<std::size_t>(ahead)]);
    }
    Piece message = part(packed, 0, length * std::ssize(travelling));
    Piece received = moves.new_scratch(message.elements.extent());
    for (std::ptrdiff_t index = 0; index < std::ssize(travelling); ++index) {
      Piece& block = *travelling[static_cast<std::size_t>(index)];
      moves.copy(part(packed, index * length, length), block);
      block = part(received, index * length, length);
    }
    moves.send(group.member(member + distance), message);
    moves.receive(group.member(member - distance), received);
  }
  for (int behind = 0; behind < call.members; ++behind)
    moves.copy(vector_piece(range(member - behind)), blocks[static_cast<std::size_t>(behind)]);
  return std::move(moves).take();
}

}  // namespace troika
