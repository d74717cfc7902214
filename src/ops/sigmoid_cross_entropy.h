// Per element max(x, 0) - x * target + log(1 + exp(-|x|)), which is -log of the Bernoulli
// probability of the target under sigmoid(x) and never overflows; dx = sigmoid(x) - target. For
// sums and weights see sample_loss.h.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct SigmoidCrossEntropy {
  static constexpr std::string_view kName = "sigmoid_cross_entropy";
  static void fields(auto&, auto&&) {}
  bool operator==(const SigmoidCrossEntropy&) const = default;
};

/// Inputs: x [n, ..], target in [0, 1] of x's shape or [n], weight [n]. Outputs: loss_sum f64 [1],
/// weight_sum f64 [1].
Signature signature(const SigmoidCrossEntropy& op, std::span<const TensorSpec> inputs);

}  // namespace troika
