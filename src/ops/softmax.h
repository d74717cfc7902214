// y = exp(x - max) / sum of exp(x - max) over the last dimension; dx = y * (dy - sum of y * dy).
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Softmax {
  static constexpr std::string_view kName = "softmax";
  static void fields(auto&, auto&&) {}
  bool operator==(const Softmax&) const = default;
};

/// Axes are the leading dimensions.
Signature signature(const Softmax& op, std::span<const TensorSpec> inputs);

}  // namespace troika
