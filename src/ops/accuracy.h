// The weighted number of rows whose target is among the `top` largest logits. Of equal logits the
// one with the lower index counts as larger. No gradient.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Accuracy {
  static constexpr std::string_view kName = "accuracy";
  std::int64_t top = 1;  ///< Number of largest logits that count as a hit.

  static void fields(auto& self, auto&& visit) { visit("top", self.top); }
  bool operator==(const Accuracy&) const = default;
};

/// Inputs: x [n.., v], target i32 [n..], weight [n..]. Output: correct_sum f64 [1]. Axes are the
/// leading dimensions.
Signature signature(const Accuracy& op, std::span<const TensorSpec> inputs);

}  // namespace troika
