#include "train/due.h"

#include <cmath>

namespace troika {

/// Counts the multiples of the period passed so far. Comparing counts, instead of testing for a
/// remainder of 0, also works if a step passes over a multiple, as with epochs that the batch does
/// not divide.
std::int64_t Due::count(const RunPoint& moment) const {
  switch (period_.unit) {
    case PeriodUnit::steps:
    case PeriodUnit::percent:
      return moment.step / steps_of(period_, clock_.length);
    case PeriodUnit::epochs:
      return static_cast<std::int64_t>(
          static_cast<double>(moment.position) /
          (period_.count * static_cast<double>(clock_.samples_per_epoch)));
    case PeriodUnit::seconds: {
      double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
      return static_cast<std::int64_t>(seconds / period_.count);
    }
    case PeriodUnit::never:
      return 0;
  }
  return 0;
}

void Due::start_at(const RunPoint& moment) {
  // Time between the processes of a resumed run does not count.
  start_ = std::chrono::steady_clock::now();
  passed_ = count(moment);
}

bool Due::now(const RunPoint& moment) {
  std::int64_t passed = count(moment);
  bool due = passed > passed_;
  passed_ = passed;
  return due;
}

}  // namespace troika
