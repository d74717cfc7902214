// Whether something that happens every so often is due after a step.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/period.h"

namespace troika {

struct RunClock {
  RunLength length;
  std::int64_t samples_per_epoch = 1;
};

/// A point of the run: steps done and samples consumed.
struct RunPoint {
  std::int64_t step = 0;
  std::int64_t position = 0;
};

class Due {
 public:
  Due(const Period& period, const RunClock& clock) : period_(period), clock_(clock) {}

  /// The run goes on from here: what was due before is not made up for.
  void start_at(const RunPoint& moment);
  /// True once each time a multiple of the period has been passed.
  bool now(const RunPoint& moment);
  /// Due by a clock, which no two processes have in common.
  bool is_by_time() const { return period_.unit == PeriodUnit::seconds; }

 private:
  std::int64_t count(const RunPoint& moment) const;

  Period period_;
  RunClock clock_;
  std::int64_t passed_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace troika
