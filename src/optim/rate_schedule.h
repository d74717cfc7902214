// The learning rate as a pure function of the step, so that every rank and every resumed run
// agrees.
#pragma once

#include <cstdint>

namespace troika {

enum class RateShape { constant, step, polynomial, cosine };

struct RateSchedule {
  double base = 0.05;  ///< The full rate, reached at the end of the warm-up.
  RateShape shape = RateShape::constant;
  std::int64_t warmup_steps = 0;
  double factor = 0.1;           ///< step: multiplies the rate each time.
  std::int64_t every_steps = 1;  ///< step: how often, counted from step 0 as in the papers.
  double power = 1;              ///< polynomial.
  double final_part = 0;         ///< polynomial, cosine: the rate at the end, as a part of `base`.

  bool operator==(const RateSchedule&) const = default;
};

/// The rate of step `step` (from 0) of a run of `total_steps`. Step s of a warm-up of w uses (s +
/// 1) / w of the rate (Goyal et al. 2017, arXiv:1706.02677); polynomial and cosine (Loshchilov and
/// Hutter 2017, arXiv:1608.03983) then descend over the remaining steps and stay at the final rate
/// afterwards. `total_steps` is read by those two shapes only.
double learning_rate(const RateSchedule& schedule, std::int64_t step, std::int64_t total_steps);

}  // namespace troika
