// y[n,t,d] = x[n,t,d] + w[t,d]: a learnt vector per position, added to every sample. It is not an
// Embedding, which would need an input of positions that no data set has, and not a Bias, which has
// one dimension and can be fused into other kernels.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Position {
  static constexpr std::string_view kName = "position";

  static void fields(auto&, auto&&) {}
  bool operator==(const Position&) const = default;
};

Signature signature(const Position& op, std::span<const TensorSpec> inputs);

}  // namespace troika
