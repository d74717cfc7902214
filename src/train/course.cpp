#include "train/course.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

// Bounds a run that has train.until but neither steps nor epochs.
constexpr std::int64_t kEpochsWithoutLimit = 1000;

BatchSchedule schedule_of(const TrainConfig& config) {
  BatchSchedule schedule{.start = config.global_batch, .factor = config.batch_schedule.factor};
  if (config.batch_schedule.limit) schedule.limit = *config.batch_schedule.limit;
  if (!config.batch_schedule.every) return schedule;
  if (config.batch_schedule.every->unit != PeriodUnit::epochs)
    throw Error(ErrorKind::usage,
                "train.batch_schedule.every must be counted in epochs, such as \"10 epochs\"");
  schedule.every_epochs = config.batch_schedule.every->count;
  return schedule;
}

}  // namespace

Course::Course(const TrainConfig& config, std::int64_t samples)
    : schedule_(schedule_of(config)), samples_(samples) {
  std::int64_t default_epochs = config.until ? kEpochsWithoutLimit : 1;
  std::int64_t end = config.epochs.value_or(default_epochs) * samples;
  // Every step is walked once here, because with a batch schedule the number of steps has no simple
  // formula and each batch size needs its own programs before the first step.
  for (std::int64_t position = 0;; ++total_steps_) {
    bool done = config.steps ? total_steps_ >= *config.steps : position >= end;
    if (done) break;
    std::int64_t batch = batch_at(position);
    if (std::ranges::count(batches_, batch) == 0) batches_.push_back(batch);
    position += batch;
  }
  // The C++ API builds a run of 0 steps, with its programs, and sets the length later.
  if (batches_.empty()) batches_.push_back(batch_at(0));
}

std::int64_t Course::batch_at(std::int64_t position) const {
  return global_batch(schedule_, static_cast<double>(position) / static_cast<double>(samples_));
}

RunLength Course::length() const {
  return {.steps_per_epoch = static_cast<double>(samples_) / static_cast<double>(schedule_.start),
          .total_steps = total_steps_};
}

}  // namespace troika
