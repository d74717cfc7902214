// c[b..,m,n] = sum over k of a[b..,m,k] * b[b..,k,n]: a batched matrix product of two activations.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Matmul {
  static constexpr std::string_view kName = "matmul";
  bool transpose_a = false;  ///< a is [b..,k,m].
  bool transpose_b = false;  ///< b is [b..,n,k].

  static void fields(auto& self, auto&& visit) {
    visit("transpose_a", self.transpose_a);
    visit("transpose_b", self.transpose_b);
  }
  bool operator==(const Matmul&) const = default;
};

/// Axes b, b1, b2 … for the leading dimensions (equal in both inputs), then m, n, k. backward_data
/// is the gradient of a, backward_weight that of b.
Signature signature(const Matmul& op, std::span<const TensorSpec> inputs);

}  // namespace troika
