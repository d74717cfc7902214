// The period of a loop: the time of a step once the loop repeats itself.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "sim/loop_body.h"
#include "sim/loop_state.h"

namespace troika {

struct LoopPeriod {
  SimTime time{};
  bool repeats = true;      ///< As in SteadyLoop.
  std::int64_t passes = 0;  ///< After which it was known.

  bool operator==(const LoopPeriod&) const = default;
};

/// A pass that has ended, and how things stood then.
struct PassEnd {
  std::int64_t passes = 0;  ///< That have ended.
  SimTime time{};
  std::shared_ptr<const LoopState> state;
};

/// Looks for the period in the passes of a loop from rest.
class PeriodFinder {
 public:
  explicit PeriodFinder(const LoopBody& body);

  /// In their order. Returns the period as soon as it is known.
  std::optional<LoopPeriod> add(const PassEnd& end);

 private:
  LoopPeriod checked(LoopPeriod period) const;

  const LoopBody& body_;
  const std::int64_t first_;  // in earlier passes some tasks do not take part
  std::deque<PassEnd> ends_;  // the last one in front
  PassEnd middle_;
};

/// Takes half as long as finding the times of all tasks besides.
LoopPeriod find_period(const LoopBody& body);

}  // namespace troika
