// y[n,t,d] = x[n,t,d] + w[t,d]: a learnt vector per position, added to every sample. It is no
// Embedding, because that would need an input of positions that no data set has; and no Bias, whose
// one dimension post-operations can take.
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
