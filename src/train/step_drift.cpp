#include "train/step_drift.h"

#include <algorithm>
#include <cstdlib>

namespace troika {
namespace {

/// Steps at the start that fill caches and are not like the others.
constexpr std::size_t kFirstSteps = 2;
constexpr std::size_t kLeastSteps = 10;
/// Steps that a median is taken of, so that long runs need no more memory.
constexpr std::size_t kMostSteps = 1000;

}  // namespace

void StepDriftWatch::add(std::chrono::nanoseconds taken, std::int64_t samples) {
  if (samples != samples_ || ++seen_ <= kFirstSteps) return;
  if (times_.size() < kMostSteps)
    times_.push_back(taken);
  else
    times_[seen_ % kMostSteps] = taken;
}

std::optional<StepDrift> StepDriftWatch::find() const {
  if (times_.size() < kLeastSteps || predicted_.count() <= 0) return std::nullopt;
  std::vector<std::chrono::nanoseconds> times = times_;
  auto middle = times.begin() + std::ssize(times) / 2;
  std::ranges::nth_element(times, middle);
  auto difference = static_cast<double>(std::abs((*middle - predicted_).count()));
  if (difference <= kStepDrift * static_cast<double>(predicted_.count())) return std::nullopt;
  return StepDrift{predicted_, *middle};
}

}  // namespace troika
