// The course of a run: which batch each step takes, when it ends. Pure functions of the
// configuration and of how many samples there are, so that a resumed run sees the same.
#pragma once

#include <cstdint>
#include <vector>

#include "config/run_config.h"
#include "optim/batch_schedule.h"

namespace troika {

class Course {
 public:
  /// Throws Error(usage) when the batch schedule is not counted in epochs.
  Course(const TrainConfig& config, std::int64_t samples);

  /// Steps and samples of the whole run.
  std::int64_t total_steps() const { return total_steps_; }
  /// The global batch of the step that starts at this position in the row of samples.
  std::int64_t batch_at(std::int64_t position) const;
  /// Every batch size that will occur, in order.
  const std::vector<std::int64_t>& batches() const { return batches_; }
  /// For warm-ups and periods.
  RunLength length() const;

 private:
  BatchSchedule schedule_;
  std::int64_t samples_;
  std::int64_t total_steps_ = 0;
  std::vector<std::int64_t> batches_;
};

}  // namespace troika
