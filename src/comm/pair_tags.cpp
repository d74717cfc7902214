#include "comm/pair_tags.h"

#include "base/error.h"

namespace troika {

bool is_message(MoveKind kind) {
  switch (kind) {
    case MoveKind::send:
    case MoveKind::lend:
    case MoveKind::receive:
    case MoveKind::receive_reduce:
    case MoveKind::borrow:
      return true;
    case MoveKind::copy:
    case MoveKind::reduce:
    case MoveKind::give_back:
    case MoveKind::reduce_both:
      return false;
  }
  return false;
}

Channel channel_of(const Move& move, const Member& member) {
  TROIKA_CHECK(is_message(move.kind));
  DeviceId mine = member.devices[static_cast<std::size_t>(member.index)];
  DeviceId peer = member.devices[static_cast<std::size_t>(move.peer)];
  bool is_loan = move.kind == MoveKind::lend || move.kind == MoveKind::borrow;
  bool is_mine = move.kind == MoveKind::send || move.kind == MoveKind::lend;
  return is_mine ? Channel{mine, peer, is_loan} : Channel{peer, mine, is_loan};
}

ChannelTags PairTags::take(const MemberMoves& moves, const Member& member) {
  ChannelTags tags;
  for (const Move& move : moves.moves) {
    if (!is_message(move.kind)) continue;
    Channel channel = channel_of(move, member);
    std::uint32_t& next = next_.try_emplace(channel, first_).first->second;
    // Keeps the first tag of each channel; bind counts on from there.
    tags.try_emplace(channel, next);
    ++next;
  }
  return tags;
}

}  // namespace troika
