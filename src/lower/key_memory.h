// Answers to the keys that were asked last: tiles of one operator ask the same one after the other,
// on hundreds of devices.
#pragma once

#include <deque>
#include <utility>

#include "taskgraph/kernel_key.h"

namespace troika {

template <class Answer>
class KeyMemory {
 public:
  /// What make() said for an equal key, or says now. Valid until the next call.
  template <class Make>
  const Answer& answer(const KernelKey& key, const Make& make) {
    for (const auto& [known, answer] : known_)
      if (known == key) return answer;
    if (known_.size() == kMost) known_.pop_back();
    known_.emplace_front(key, make());
    return known_.front().second;
  }

 private:
  static constexpr std::size_t kMost = 16;

  std::deque<std::pair<KernelKey, Answer>> known_;  // newest first
};

}  // namespace troika
