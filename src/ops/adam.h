// Adam (Kingma and Ba 2015, arXiv:1412.6980) and, decoupled, AdamW (Loshchilov and Hutter 2019,
// arXiv:1711.05101):
//   g = scale * gradient (+ decay * w, unless decoupled: then first w -= rate * decay * w);
//   m = b1 * m + (1 - b1) * g;  v = b2 * v + (1 - b2) * g^2;
//   w -= rate / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + epsilon), where t counts updates from 1.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Adam {
  static constexpr std::string_view kName = "adam";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  ///< AdamW.
  double rate_factor = 1;  ///< From the parameter group; multiplies the rate.

  static void fields(auto& self, auto&& visit) {
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit("decoupled", self.decoupled);
    visit("rate_factor", self.rate_factor);
  }
  bool operator==(const Adam&) const = default;
};

/// Input: the spec of the parameter. States: first_moment m, second_moment v.
Signature signature(const Adam& op, std::span<const TensorSpec> inputs);

}  // namespace troika
