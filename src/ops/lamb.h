// LAMB (You et al. 2020, arXiv:1904.00962, algorithm 2): with m and v as in Adam, t counting
// updates from 1,
//   u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + decay * w;
//   w -= rate * |w| / |u| * u, the ratio being 1 where |w| or |u| is 0.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Lamb {
  static constexpr std::string_view kName = "lamb";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;
  double rate_factor = 1;  ///< From the parameter group; multiplies the rate.

  static void fields(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit("rate_factor", self.rate_factor);
  }
  bool operator==(const Lamb&) const = default;
};

/// Input: the spec of the parameter. States: first_moment m, second_moment v. A split parameter
/// uses the staged phases, which sum the squares of w and u over the slices. The statistics phase
/// does not write the states, so that apply updates them exactly once.
Signature signature(const Lamb& op, std::span<const TensorSpec> inputs);

}  // namespace troika
