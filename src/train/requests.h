// Requests of one rank to all of them. They are added up with the loss (docs/design.md, Laws), so
// that all ranks obey after the same step.
#pragma once

#include <cmath>

namespace troika {

struct Requests {
  bool stop = false;  ///< Any rank may ask for it;
  /// for these, which are due by the clock, only the first does.
  bool log = false, save = false, evaluate = false;

  bool operator==(const Requests&) const = default;
};

/// A number that can be added up over ranks: stops are counted above three bits of the first rank.
inline double to_number(const Requests& requests) {
  return (requests.log ? 1 : 0) + (requests.save ? 2 : 0) + (requests.evaluate ? 4 : 0) +
         (requests.stop ? 8 : 0);
}

inline Requests parse_requests(double sum) {
  auto number = static_cast<long long>(std::llround(sum));
  return {number >= 8, (number & 1) != 0, (number & 2) != 0, (number & 4) != 0};
}

}  // namespace troika
