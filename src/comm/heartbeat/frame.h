// What ranks tell each other beside MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "comm/heartbeat/wire.h"

namespace troika {

/// Where calls are so short that thousands are made while a frame travels, the ranks remember no
/// longer what they did at the moment of a report, but at the last milestone before it.
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

/// I am here, and this far.
struct AliveFrame {
  std::vector<GroupReport> groups;

  bool operator==(const AliveFrame&) const = default;
};

/// The run is over, and why. Passed on to every neighbour.
struct NewsFrame {
  std::string sentence;

  bool operator==(const NewsFrame&) const = default;
};

/// I leave, and all is well.
struct ByeFrame {
  bool operator==(const ByeFrame&) const = default;
};

using Frame = std::variant<AliveFrame, NewsFrame, ByeFrame>;

inline constexpr std::size_t kReportsPerFrame = 16;
inline constexpr std::size_t kLongestCall = 240;
inline constexpr std::size_t kLongestSentence = 1500;
/// No encoded frame is longer.
inline constexpr std::size_t kLongestFrame = 8192;

WireBytes encode(const Frame& frame);
/// Empty for bytes that no rank of this version writes.
std::optional<Frame> decode(std::span<const std::byte> bytes);

}  // namespace troika
