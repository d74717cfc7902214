// Per element (x - target)^2; dx = 2 * (x - target). Sums and weights as in sample_loss.h.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct MeanSquaredError {
  static constexpr std::string_view kName = "mean_squared_error";
  static void fields(auto&, auto&&) {}
  bool operator==(const MeanSquaredError&) const = default;
};

/// Inputs: x [n, ..], target of x's shape or [n], weight [n]. Outputs: loss_sum f64 [1], weight_sum
/// f64 [1].
Signature signature(const MeanSquaredError& op, std::span<const TensorSpec> inputs);

}  // namespace troika
