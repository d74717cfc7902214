// The calls that this rank has made in one group, so that they can be compared with a peer's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/heartbeat/frame.h"

namespace troika {

/// The group of all ranks that the end of a run is called in. Who calls steps in it, too, learns at
/// once of a rank that has ended early.
inline constexpr const char* kWorldGroup = "world";

/// A round of calls among the same members; all make the same calls in the same order.
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

  /// A call that will be begun, perhaps many times; returns its index.
  int describe(std::string call);
  /// Begins a call. Does not allocate.
  void begin(int call);
  void end() { --under_way_; }

  std::uint64_t calls() const { return calls_; }
  /// Whether a call has begun and not ended; several may be under way at once.
  bool inside() const { return under_way_ > 0; }
  /// "call 17 of group 'world' (all_reduce of 1000 f32)", or that there was none yet.
  std::string last() const;
  GroupReport report() const;
  /// What both sides called, where the peer's report differs from what was called here; empty where
  /// it agrees, or where this rank has not come so far or has long forgotten.
  std::optional<std::string> difference(int self, int peer, const GroupReport& report) const;

 private:
  struct Entry {
    std::uint64_t chain = 0;
    int call = 0;
  };
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
