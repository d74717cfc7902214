// The sum over rows of w where the largest logit is the target's; of equal logits the first counts.
// No gradient.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Accuracy {
  static constexpr std::string_view kName = "accuracy";
  static void fields(auto&, auto&&) {}
  bool operator==(const Accuracy&) const = default;
};

/// Inputs: x [n.., v], target i32 [n..], weight [n..]. Output: correct_sum f64 [1]. Axes are the
/// leading dimensions.
Signature signature(const Accuracy& op, std::span<const TensorSpec> inputs);

}  // namespace troika
