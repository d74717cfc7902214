// LARS, layer-wise adaptive rates (You, Gitman and Ginsburg 2017, arXiv:1708.03888), with g = scale
// * gradient:
//   local = trust * |w| / (|g| + decay * |w|), or 1 where |w| or |g| is 0;
//   v = momentum * v + rate * local * (g + decay * w);  w -= v.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Lars {
  static constexpr std::string_view kName = "lars";
  double momentum = 0.9;
  double weight_decay = 0;
  double trust = 0.001;
  double rate_factor = 1;  ///< From the parameter group; multiplies the rate.

  static void fields(auto& self, auto&& visit) {
    visit("momentum", self.momentum);
    visit("weight_decay", self.weight_decay);
    visit("trust", self.trust);
    visit("rate_factor", self.rate_factor);
  }
  bool operator==(const Lars&) const = default;
};

/// Input: the spec of the parameter. State: momentum v. A split parameter uses the staged phases,
/// which sum the squares of w and g over the slices.
Signature signature(const Lars& op, std::span<const TensorSpec> inputs);

}  // namespace troika
