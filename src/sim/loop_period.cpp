#include "sim/loop_period.h"

#include "base/error.h"
#include "sim/loop_run.h"

namespace troika {
namespace {

/// Longest period, in passes, that is looked for.
constexpr std::size_t kLongestRepetition = 8;
/// Passes after which the loop is taken as not periodic, and those of them that are averaged then.
/// Lowered graphs settle within a few.
constexpr std::int64_t kMostPasses = 64, kAveragedPasses = 32;

/// The time of a pass, on average and rounded.
SimTime mean_between(const PassEnd& earlier, const PassEnd& later) {
  std::int64_t passes = later.passes - earlier.passes;
  return {((later.time - earlier.time).count + passes / 2) / passes};
}

}  // namespace

PeriodFinder::PeriodFinder(const LoopBody& body) : body_(body), first_(largest_lag(body)) {}

std::optional<LoopPeriod> PeriodFinder::add(const PassEnd& end) {
  if (end.passes <= first_) return std::nullopt;
  ends_.push_front(end);
  for (std::size_t back = 1; back < ends_.size(); ++back)
    if (*ends_[back].state == *end.state)
      return checked({mean_between(ends_[back], end), true, end.passes});
  if (end.passes >= first_ + kMostPasses)
    return LoopPeriod{mean_between(middle_, end), false, end.passes};
  if (ends_.size() > kLongestRepetition) ends_.pop_back();
  if (end.passes <= first_ + kMostPasses - kAveragedPasses) middle_ = end;
  return std::nullopt;
}

/// A lane does its tasks one after the other, so no step takes less than they do: period x devices
/// is at least the work of a step. A period may be rounded down.
LoopPeriod PeriodFinder::checked(LoopPeriod period) const {
  for (const LoopLane& lane : body_.lanes)
    TROIKA_CHECK(lane.work <= period.time + SimTime{1}, "a step without its work");
  return period;
}

LoopPeriod find_period(const LoopBody& body) {
  LoopRun run(body);
  PeriodFinder finder(body);
  while (true) {
    std::optional<SimTime> end = run.run_pass();
    TROIKA_CHECK(end.has_value(), "a loop whose lanes wait for each other");
    if (std::optional<LoopPeriod> period =
            finder.add({run.passes(), *end, std::make_shared<LoopState>(run.state())}))
      return *period;
  }
}

}  // namespace troika
