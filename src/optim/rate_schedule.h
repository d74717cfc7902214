// The learning rate as a pure function of the step, so that all ranks and resumed runs agree.
#pragma once

#include <cstdint>

namespace troika {

enum class RateShape { constant, step, polynomial, cosine };

struct RateSchedule {
  double base = 0.05;  ///< The rate at the end of the warm-up.
  RateShape shape = RateShape::constant;
  std::int64_t warmup_steps = 0;
  double factor = 0.1;           ///< step: factor of each decrease.
  std::int64_t every_steps = 1;  ///< step: period of the decreases, counted from step 0.
  double power = 1;              ///< polynomial.
  double final_part = 0;         ///< polynomial, cosine: final rate as a fraction of `base`.

  bool operator==(const RateSchedule&) const = default;
};

/// Returns the rate of step `step`, counted from 0, in a run of `total_steps`. Step s of a warm-up
/// of w steps uses (s + 1) / w of the rate (Goyal et al. 2017, arXiv:1706.02677). Polynomial and
/// cosine (Loshchilov and Hutter 2017, arXiv:1608.03983) then decrease over the remaining steps and
/// keep the final rate afterwards. Only these two shapes use `total_steps`.
double learning_rate(const RateSchedule& schedule, std::int64_t step, std::int64_t total_steps);

}  // namespace troika
