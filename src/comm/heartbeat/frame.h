// Messages of the heartbeat, which ranks exchange over TCP, independently of MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "comm/heartbeat/wire.h"

namespace troika {

/// Short calls are made by the thousand while a frame travels. A rank then no longer remembers the
/// call of a report, but it does remember the last milestone before it.
inline constexpr std::uint64_t kCallsPerMilestone = 1024;

/// How far a rank is in the calls of one group.
struct GroupReport {
  std::uint64_t group = 0;      ///< Hash of name and members.
  std::uint64_t calls = 0;      ///< Begun so far.
  std::uint64_t chain = 0;      ///< Hash of all of them, in order.
  std::uint64_t milestone = 0;  ///< The hash at the last multiple of kCallsPerMilestone.
  bool inside = false;          ///< The last one has not ended.
  std::string call{};           ///< The last one, in words.

  bool operator==(const GroupReport&) const = default;
};

/// The sender is alive and has made these calls.
struct AliveFrame {
  std::vector<GroupReport> groups;

  bool operator==(const AliveFrame&) const = default;
};

/// The run has failed, with the reason. Passed on to every neighbour.
struct NewsFrame {
  std::string sentence;

  bool operator==(const NewsFrame&) const = default;
};

/// The sender leaves in order.
struct ByeFrame {
  bool operator==(const ByeFrame&) const = default;
};

using HeartbeatFrame = std::variant<AliveFrame, NewsFrame, ByeFrame>;

inline constexpr std::size_t kReportsPerFrame = 16;
inline constexpr std::size_t kLongestCall = 240;
inline constexpr std::size_t kLongestSentence = 1500;
/// No encoded frame is longer.
inline constexpr std::size_t kLongestFrame = 8192;

WireBytes encode(const HeartbeatFrame& frame);
/// Empty for bytes that are not a frame of this version.
std::optional<HeartbeatFrame> decode(std::span<const std::byte> bytes);

}  // namespace troika
