// Reads the step's scalars and control word by name.
#pragma once

#include <span>

#include "ops/step_scalars.h"

namespace troika {

class StepValues {
 public:
  StepValues(std::span<const double> scalars, std::span<const double> control)
      : scalars_(scalars), control_(control) {}

  bool ok() const { return at(Control::ok) != 0; }
  double gradient_scale() const { return at(Control::gradient_scale); }
  double learning_rate() const { return at(Scalar::learning_rate); }
  /// Updates done so far plus this one, from 1.
  double update_step() const { return at(Scalar::update_step); }

 private:
  double at(Control which) const { return control_[static_cast<std::size_t>(which)]; }
  double at(Scalar which) const { return scalars_[static_cast<std::size_t>(which)]; }

  std::span<const double> scalars_, control_;
};

/// The random key of the step, from the scalars alone.
inline StepKey step_key(std::span<const double> scalars) {
  auto word = [&](Scalar which) {
    return static_cast<std::uint64_t>(scalars[static_cast<std::size_t>(which)]);
  };
  return {.seed = word(Scalar::key_low) | word(Scalar::key_high) << 32,
          .step = static_cast<std::uint32_t>(word(Scalar::update_step))};
}

}  // namespace troika
