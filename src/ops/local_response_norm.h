// Normalisation over neighbouring channels in AlexNet (Krizhevsky, Sutskever and Hinton 2012,
// doi:10.1145/3065386, section 3.3):
//   y[c] = x[c] * (k + alpha/size * sum of x[j]^2)^-beta, j from c - size/2 to c + (size-1)/2, as
//   in PyTorch.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct LocalResponseNorm {
  static constexpr std::string_view kName = "local_response_norm";
  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;

  static void fields(auto& self, auto&& visit) {
    visit("size", self.size);
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("k", self.k);
  }
  bool operator==(const LocalResponseNorm&) const = default;
};

/// Input x [n,c,h,w]. Axes are all dimensions except the channels.
Signature signature(const LocalResponseNorm& op, std::span<const TensorSpec> inputs);

}  // namespace troika
