// Decides after each step whether a periodic action (log, save, evaluate) is due.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/period.h"

namespace troika {

/// Converts periods to steps and epochs.
struct RunClock {
  RunLength length;
  std::int64_t samples_per_epoch = 1;
};

/// Progress of a run: steps done and samples consumed.
struct RunPoint {
  std::int64_t step = 0;
  std::int64_t position = 0;
};

class Due {
 public:
  Due(const Period& period, const RunClock& clock) : period_(period), clock_(clock) {}

  /// Starts counting here; a multiple of the period passed earlier is not due any more.
  void start_at(const RunPoint& moment);
  /// Returns true once after each multiple of the period.
  bool now(const RunPoint& moment);
  /// The period is in seconds. Ranks then have to agree, because their clocks differ.
  bool is_by_time() const { return period_.unit == PeriodUnit::seconds; }

 private:
  std::int64_t count(const RunPoint& moment) const;

  Period period_;
  RunClock clock_;
  std::int64_t passed_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace troika
