// Stochastic gradient descent with momentum (Polyak 1964, doi:10.1016/0041-5553(64)90137-5) or
// Nesterov momentum in the form of Bengio et al. (arXiv:1212.0901), and L2 weight decay:
//   g = scale * gradient + decay * w;  v = momentum * v + g;  w -= rate * (nesterov ? g + momentum
//   * v : v).
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct Sgd {
  static constexpr std::string_view kName = "sgd";
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double rate_factor = 1;  ///< From the parameter group; multiplies the rate.

  static void fields(auto& self, auto&& visit) {
    visit("momentum", self.momentum);
    visit("nesterov", self.nesterov);
    visit("weight_decay", self.weight_decay);
    visit("rate_factor", self.rate_factor);
  }
  bool operator==(const Sgd&) const = default;
};

/// Input: the spec of the parameter.
Signature signature(const Sgd& op, std::span<const TensorSpec> inputs);

}  // namespace troika
