// The sum over rows of w where the target's logit is among the largest; of equal logits the first
// come first. No gradient.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Accuracy {
  static constexpr std::string_view kName = "accuracy";
  std::int64_t top = 1;  ///< How many of the largest logits count.

  static void fields(auto& self, auto&& visit) { visit("top", self.top); }
  bool operator==(const Accuracy&) const = default;
};

/// Inputs: x [n.., v], target i32 [n..], weight [n..]. Output: correct_sum f64 [1]. Axes are the
/// leading dimensions.
Signature signature(const Accuracy& op, std::span<const TensorSpec> inputs);

}  // namespace troika
