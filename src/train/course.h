// The length of a run and the batch size of each step. Pure functions of the configuration and the
// number of samples, so that a resumed run follows the same course.
#pragma once

#include <cstdint>
#include <vector>

#include "config/run_config.h"
#include "optim/batch_schedule.h"

namespace troika {

class Course {
 public:
  /// Throws Error(usage) if the batch schedule is not counted in epochs.
  Course(const TrainConfig& config, std::int64_t samples);

  /// Number of steps of the whole run.
  std::int64_t total_steps() const { return total_steps_; }
  /// Returns the global batch of the step that starts after `position` samples.
  std::int64_t batch_at(std::int64_t position) const;
  /// Every batch size that occurs, in order of first use.
  const std::vector<std::int64_t>& batches() const { return batches_; }
  /// Converts epochs and percentages of warm-ups and periods to steps.
  RunLength length() const;

 private:
  BatchSchedule schedule_;
  std::int64_t samples_;
  std::int64_t total_steps_ = 0;
  std::vector<std::int64_t> batches_;
};

}  // namespace troika
