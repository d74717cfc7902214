// Tags of messages: each pair of devices numbers its messages in the order of the recipe. Sends of
// one match receives of the other, so both sides assign the same numbers, and a device needs only
// its own moves.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "collective/recipe.h"
#include "machine/machine.h"

namespace troika {

/// One member of a group of devices; devices[m] is the device of member m.
struct Member {
  int index = 0;
  std::span<const DeviceId> devices;
};

/// One direction between two devices. Loans and messages are numbered separately.
struct Channel {
  DeviceId from, to;
  bool is_loan = false;

  auto operator<=>(const Channel&) const = default;
};

/// The tag of an operation's first message on each channel that it uses.
using ChannelTags = std::map<Channel, std::uint32_t>;

bool is_message(MoveKind kind);
/// The channel of a message that `member` sends or receives.
Channel channel_of(const Move& move, const Member& member);

/// The tags of one device, for all its operations on a transport. Any two devices must take tags
/// for the operations that they have in common in the same order.
class PairTags {
 public:
  explicit PairTags(std::uint32_t first = 0) : first_(first) {}

  /// Returns the tags of one more operation.
  ChannelTags take(const MemberMoves& moves, const Member& member);

 private:
  std::uint32_t first_;
  ChannelTags next_;
};

}  // namespace troika
