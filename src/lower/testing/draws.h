// For tests: seeded draws, one after the other.
#pragma once

#include "base/random.h"

namespace troika {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_{.key = seed} {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(at_++, static_cast<std::uint64_t>(bound)));
  }

 private:
  RandomStream random_;
  std::uint64_t at_ = 0;
};

}  // namespace troika
