#include "optim/rate_schedule.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace troika {
namespace {

/// Progress of the decrease, from 0 at the end of the warm-up to 1 at the end of the run.
double progress(const RateSchedule& schedule, std::int64_t step, std::int64_t total_steps) {
  std::int64_t descent = total_steps - schedule.warmup_steps;
  std::int64_t done = step - schedule.warmup_steps;
  if (done <= 0) return 0;
  // Also if the warm-up is as long as the run, where the division would be by zero or less.
  if (done >= descent) return 1;
  return static_cast<double>(done) / static_cast<double>(descent);
}

double warmup_part(const RateSchedule& schedule, std::int64_t step) {
  if (step >= schedule.warmup_steps) return 1;
  return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
}

double shape_part(const RateSchedule& schedule, std::int64_t step, std::int64_t total_steps) {
  // Maps 1 … 0 to 1 … final_part.
  auto descend = [&](double part) {
    return schedule.final_part + (1 - schedule.final_part) * part;
  };
  switch (schedule.shape) {
    case RateShape::constant:
      return 1;
    case RateShape::step: {
      std::int64_t times = step / schedule.every_steps;
      return std::pow(schedule.factor, static_cast<double>(times));
    }
    case RateShape::polynomial:
      return descend(std::pow(1 - progress(schedule, step, total_steps), schedule.power));
    case RateShape::cosine: {
      double angle = std::numbers::pi * progress(schedule, step, total_steps);
      return descend(0.5 * (1 + std::cos(angle)));
    }
  }
  return 1;
}

}  // namespace

double learning_rate(const RateSchedule& schedule, std::int64_t step, std::int64_t total_steps) {
  TROIKA_CHECK(step >= 0, "steps are counted from 0");
  TROIKA_CHECK(schedule.every_steps >= 1, "a step schedule needs a period");
  return schedule.base * warmup_part(schedule, step) * shape_part(schedule, step, total_steps);
}

}  // namespace troika
