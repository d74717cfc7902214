// y[i_p0, i_p1, …] = x[i_0, i_1, …]: dimension k of y is dimension permutation[k] of x.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Transpose {
  static constexpr std::string_view kName = "transpose";
  std::vector<std::int64_t> permutation{};

  static void fields(auto& self, auto&& visit) { visit("permutation", self.permutation); }
  bool operator==(const Transpose&) const = default;
};

/// Axes are the dimensions of x.
Signature signature(const Transpose& op, std::span<const TensorSpec> inputs);

}  // namespace troika
