// The calls that this rank has made in one group, so that they can be compared with a peer's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/heartbeat/frame.h"

namespace troika {

/// Name of the group of all ranks in which the last call of a run is made. A rank that makes its
/// steps in the same group learns at once if another rank has ended early.
inline constexpr const char* kWorldGroup = "world";

/// Ranks that make the same calls in the same order.
struct CallGroup {
  std::string name;
  std::vector<int> members;  ///< Ranks, ascending.

  bool operator==(const CallGroup&) const = default;
};

std::uint64_t hash_of(const CallGroup& group);

class CallHistory {
 public:
  explicit CallHistory(CallGroup group);

  const CallGroup& group() const { return group_; }
  std::uint64_t id() const { return id_; }
  bool has_member(int rank) const;

  /// Registers a call that will be begun any number of times; returns its index.
  int describe(std::string call);
  /// Begins a call. Does not allocate.
  void begin(int call);
  void end() { --under_way_; }

  std::uint64_t calls() const { return calls_; }
  /// Returns true if a call has begun and not ended; several may be under way at once.
  bool inside() const { return under_way_ > 0; }
  /// Describes the last call: "call 17 of group 'world' (all_reduce of 1000 f32)".
  std::string last() const;
  GroupReport report() const;
  /// Describes both sides' calls if the peer's report differs from the calls made here. Empty if
  /// they agree, or if this rank has not made that call yet or no longer remembers it.
  std::optional<std::string> difference(int self, int peer, const GroupReport& report) const;

 private:
  struct Entry {
    std::uint64_t chain = 0;
    int call = 0;
  };
  // Calls, and milestones of kCallsPerMilestone calls each, that a peer's report may lag behind.
  static constexpr std::size_t kRemembered = 256;
  static constexpr std::size_t kMilestones = 256;

  std::optional<std::string> difference_before(int self, int peer, const GroupReport& report) const;

  CallGroup group_;
  std::uint64_t id_;
  std::vector<std::string> texts_;
  std::vector<std::uint64_t> hashes_;
  std::array<Entry, kRemembered> entries_{};
  std::array<std::uint64_t, kMilestones> milestones_{};
  std::uint64_t calls_ = 0;
  int under_way_ = 0;
};

}  // namespace troika
