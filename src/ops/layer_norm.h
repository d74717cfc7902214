// Layer normalisation (Ba, Kiros and Hinton 2016, arXiv:1607.06450): normalises each row along the
// last dimension to mean 0 and variance 1, then applies gamma and beta.
#pragma once

#include <span>

#include "ops/signature.h"

namespace troika {

struct LayerNorm {
  static constexpr std::string_view kName = "layer_norm";
  double epsilon = 1e-5;

  static void fields(auto& self, auto&& visit) { visit("epsilon", self.epsilon); }
  bool operator==(const LayerNorm&) const = default;
};

Signature signature(const LayerNorm& op, std::span<const TensorSpec> inputs);

}  // namespace troika
