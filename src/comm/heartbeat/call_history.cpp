#include "comm/heartbeat/call_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace troika {

// All ranks must get the same number, so it hashes text and not the bytes of a struct.
std::uint64_t hash_of(const CallGroup& group) {
  std::uint64_t hash = hash_text(group.name);
  for (int member : group.members) hash = hash_text(fmt::format(" {}", member), hash);
  return hash;
}

CallHistory::CallHistory(CallGroup group) : group_(std::move(group)), id_(hash_of(group_)) {}

bool CallHistory::has_member(int rank) const {
  return std::ranges::binary_search(group_.members, rank);
}

int CallHistory::describe(std::string call) {
  hashes_.push_back(hash_text(call));
  texts_.push_back(std::move(call));
  return static_cast<int>(texts_.size()) - 1;
}

// Call number n (from 1) is kept in entries_[n % kRemembered], every kCallsPerMilestone-th one also
// in milestones_. Fixed arrays, because this runs in every step and must not allocate.
void CallHistory::begin(int call) {
  TROIKA_CHECK(call >= 0 && call < static_cast<int>(texts_.size()),
               "a call that was not described");
  std::uint64_t before = calls_ == 0 ? id_ : entries_[calls_ % kRemembered].chain;
  // A chain of hashes: it depends on all calls so far and on their order. The factor is 2^64
  // divided by the golden ratio (Fibonacci hashing, Knuth, TAOCP volume 3, 6.4).
  std::uint64_t chain = (before ^ hashes_[call]) * 0x9e3779b97f4a7c15u;
  chain ^= chain >> 29;
  ++calls_;
  entries_[calls_ % kRemembered] = {chain, call};
  if (calls_ % kCallsPerMilestone == 0)
    milestones_[calls_ / kCallsPerMilestone % kMilestones] = chain;
  ++under_way_;
}

std::string CallHistory::last() const {
  if (calls_ == 0) return fmt::format("no call yet of group '{}'", group_.name);
  return fmt::format("call {} of group '{}' ({})", calls_, group_.name,
                     texts_[entries_[calls_ % kRemembered].call]);
}

GroupReport CallHistory::report() const {
  const Entry& entry = entries_[calls_ % kRemembered];
  return {.group = id_,
          .calls = calls_,
          .chain = calls_ == 0 ? 0 : entry.chain,
          .milestone = milestones_[calls_ / kCallsPerMilestone % kMilestones],
          .inside = inside(),
          .call = calls_ == 0 ? std::string{} : texts_[entry.call]};
}

std::optional<std::string> CallHistory::difference(int self, int peer,
                                                   const GroupReport& report) const {
  // A peer may be ahead, or so far behind that its call is no longer remembered.
  bool comparable =
      report.calls > 0 && report.calls <= calls_ && report.calls + kRemembered > calls_;
  if (!comparable) return difference_before(self, peer, report);
  const Entry& mine = entries_[report.calls % kRemembered];
  if (mine.chain == report.chain) return std::nullopt;
  bool earlier = texts_[mine.call].substr(0, kLongestCall) == report.call;
  return fmt::format(
      "ranks {} and {} disagree in call {} of group '{}': rank {} calls {}, rank {} "
      "calls {}{}",
      std::min(self, peer), std::max(self, peer), report.calls, group_.name, self,
      texts_[mine.call], peer, report.call, earlier ? ", but a call before it was different" : "");
}

std::optional<std::string> CallHistory::difference_before(int self, int peer,
                                                          const GroupReport& report) const {
  std::uint64_t number = report.calls / kCallsPerMilestone;
  std::uint64_t mine = calls_ / kCallsPerMilestone;
  // The milestone says only that some call before it was different.
  bool comparable = number > 0 && number <= mine && number + kMilestones > mine;
  if (!comparable || milestones_[number % kMilestones] == report.milestone) return std::nullopt;
  return fmt::format(
      "ranks {} and {} disagree in the calls of group '{}' before number {}; rank {} is "
      "in {}, rank {} in call {} ({})",
      std::min(self, peer), std::max(self, peer), group_.name, number * kCallsPerMilestone, self,
      last(), peer, report.calls, report.call);
}

}  // namespace troika
