// Numbers messages per pair of devices, so that a device needs to know no moves but its own: what
// one of a pair sends the other receives, so both count alike.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "collective/recipe.h"
#include "machine/machine.h"

namespace troika {

/// What a member of a group is bound with. devices[m] is member m's.
struct Member {
  int index = 0;
  std::span<const DeviceId> devices;
};

/// One way between two devices. Loans and messages are numbered apart.
struct Channel {
  DeviceId from, to;
  bool is_loan = false;

  auto operator<=>(const Channel&) const = default;
};

/// The number of an operation's first message on each channel that it uses.
using ChannelTags = std::map<Channel, std::uint32_t>;

bool is_message(MoveKind kind);
/// Of a message that `member` sends or receives.
Channel channel_of(const Move& move, const Member& member);

/// Those of one device, which uses it for all its operations on a transport. Any two devices take
/// tags for the operations that they have in common in the same order.
class PairTags {
 public:
  explicit PairTags(std::uint32_t first = 0) : first_(first) {}

  /// The tags of one more operation.
  ChannelTags take(const MemberMoves& moves, const Member& member);

 private:
  std::uint32_t first_;
  ChannelTags next_;
};

}  // namespace troika
