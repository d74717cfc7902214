// Softmax and cross entropy over the last dimension: the sum over rows of w * -log
// softmax(x)[target], and the sum of w. Gradients are those of the sum, not of the mean (law 2);
// the update applies 1/sum of w.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";
  std::int64_t first_class = 0;  ///< First class of this tile of the vocabulary.

  static void fields(auto& self, auto&& visit) { visit("first_class", self.first_class); }
  bool operator==(const CrossEntropy&) const = default;
};

/// Inputs: x [n.., v], target i32 [n..], weight [n..]. Outputs: loss_sum f64 [1], weight_sum f64
/// [1].
Signature signature(const CrossEntropy& op, std::span<const TensorSpec> inputs);
CrossEntropy localize(const CrossEntropy& op, const Signature& signature, const Region& tile);

}  // namespace troika
