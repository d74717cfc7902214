// Ends the loss of a step: computes control.loss, the gradient scale 1/sum of w, the clipping
// factor (Pascanu et al. 2013, arXiv:1211.5063) and the finite flag. If the flag is 0, updates
// leave the weights alone. Inserted by lowering.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Guard {
  static constexpr std::string_view kName = "guard";
  /// Also reads the square sum of the gradient (third input), for the finite flag and the norm.
  bool gradient = false;
  double clip_norm = 0;  ///< Largest global norm of the gradient; 0 is off. Needs `gradient`.

  static void fields(auto& self, auto&& visit) {
    visit("gradient", self.gradient);
    visit("clip_norm", self.clip_norm);
  }
  bool operator==(const Guard&) const = default;
};

/// Inputs: loss_sum, weight_sum and, with `gradient`, square_sum; each f64 [1].
Signature signature(const Guard& op, std::span<const TensorSpec> inputs);

/// The sum of squares of one tensor, f64 [1], divided by `copies`: norms for clipping.
struct SquareSum {
  static constexpr std::string_view kName = "square_sum";
  std::int64_t copies = 1;  ///< As many devices have the same tensor and add up their shares.

  static void fields(auto& self, auto&& visit) { visit("copies", self.copies); }
  bool operator==(const SquareSum&) const = default;
};

Signature signature(const SquareSum& op, std::span<const TensorSpec> inputs);

}  // namespace troika
