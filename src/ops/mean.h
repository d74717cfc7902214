// y = (1/count) * sum of x over dimension `dim`, which is removed.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Mean {
  static constexpr std::string_view kName = "mean";
  std::int64_t dim = -1;  ///< May count from the end: -1 is the last.
  /// Divisor of the sum; 0 means the extent of x. A tile keeps the divisor of the whole tensor.
  std::int64_t count = 0;

  static void fields(auto& self, auto&& visit) {
    visit("dim", self.dim);
    visit("count", self.count);
  }
  bool operator==(const Mean&) const = default;
};

/// Axes are all dimensions of x; the removed one is a reduction.
Signature signature(const Mean& op, std::span<const TensorSpec> inputs);
Mean localize(const Mean& op, const Signature& signature, const Region& tile);

}  // namespace troika
