// Closes the loss of a step: control.loss, the gradient scale 1/sum of w, the clipping factor, and
// the sticky finite flag that keeps a bad step from touching the weights. Made by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Guard {
  static constexpr std::string_view kName = "guard";
  bool gradient =
      false;  ///< Also look at the gradient's square sum (third input): finite flag and norm.
  double clip_norm = 0;  ///< Scale gradients down to this global norm; 0 is off. Needs `gradient`.

  static void fields(auto& self, auto&& visit) {
    visit("gradient", self.gradient);
    visit("clip_norm", self.clip_norm);
  }
  bool operator==(const Guard&) const = default;
};

/// Inputs: loss_sum, weight_sum and, with `gradient`, square_sum; each f64 [1].
Signature signature(const Guard& op, std::span<const TensorSpec> inputs);

/// The sum of squares of one tensor, f64 [1]: norms for clipping and for LARS and LAMB.
struct SquareSum {
  static constexpr std::string_view kName = "square_sum";
  static void fields(auto&, auto&&) {}
  bool operator==(const SquareSum&) const = default;
};

Signature signature(const SquareSum& op, std::span<const TensorSpec> inputs);

}  // namespace troika
