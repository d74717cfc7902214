// Whether the steps of a run took as long as they were predicted to.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troika {

/// Smaller differences, as parts of the predicted time, are errors to be expected of a prediction.
inline constexpr double kStepDrift = 0.15;

struct StepDrift {
  std::chrono::nanoseconds predicted{}, measured{};

  bool operator==(const StepDrift&) const = default;
};

/// Collects the times of steps. Used by one thread.
class StepDriftWatch {
 public:
  /// Steps of so many samples are predicted to take this long.
  StepDriftWatch(std::chrono::nanoseconds predicted, std::int64_t samples)
      : predicted_(predicted), samples_(samples) {}

  void add(std::chrono::nanoseconds taken, std::int64_t samples);
  /// The prediction and the median of the latest steps, if they differ by more than kStepDrift.
  /// Nothing if there were too few steps for a median: the first ones are left out.
  std::optional<StepDrift> find() const;

 private:
  std::chrono::nanoseconds predicted_;
  std::int64_t samples_;
  std::size_t seen_ = 0;
  std::vector<std::chrono::nanoseconds> times_;  // a ring of the latest ones
};

}  // namespace troika
