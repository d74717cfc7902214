// The first operands of every update rule, and the step's values among them.
#pragma once

#include "kernels/cpu/offer.h"
#include "kernels/step_values.h"

namespace troika {

/// States follow.
enum UpdateOperands {
  kWeightOperand,
  kGradientOperand,
  kScalarsOperand,
  kControlOperand,
  kStateOperands
};

inline StepValues step_of(const Launch& launch) {
  return {{launch.at<double>(kScalarsOperand), kScalarCount},
          {launch.at<double>(kControlOperand), kControlCount}};
}

}  // namespace troika
