// Softmax and cross entropy over the last dimension: the sum over rows of w * -log
// softmax(x)[target], and the sum of w. Gradients are those of the sum, not of the mean (law 2);
// the update applies 1/sum of w.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";

  static void fields(auto&, auto&&) {}
  bool operator==(const CrossEntropy&) const = default;
};

/// Inputs: x [n.., v], target i32 [n..], weight [n..]. Outputs: loss_sum f64 [1], weight_sum f64
/// [1].
Signature signature(const CrossEntropy& op, std::span<const TensorSpec> inputs);
/// The first class of a tile of the vocabulary. Targets count from the first class of all.
std::vector<std::int64_t> tile_position(const CrossEntropy& op, const Signature& signature,
                                        const Region& tile);

}  // namespace troika
