// Elementwise functions of one tensor.
#pragma once

#include <array>
#include <span>

#include "ops/signature.h"

namespace troika {

enum class ActivationKind { relu, leaky_relu, gelu, gelu_tanh, sigmoid, tanh };
std::span<const std::string_view> enum_names(ActivationKind);

struct Activation {
  static constexpr std::string_view kName = "activation";
  ActivationKind kind = ActivationKind::relu;
  double slope = 0.01;  ///< leaky_relu: the factor below zero.

  static void fields(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("slope", self.slope);
  }
  bool operator==(const Activation&) const = default;
};

Signature signature(const Activation& op, std::span<const TensorSpec> inputs);

/// Returns whether backward reads the output, so that the input need not be kept. True for all but
/// the two forms of gelu (Hendrycks and Gimpel 2016, arXiv:1606.08415), whose derivative needs x.
bool backward_reads_output(ActivationKind kind);

}  // namespace troika
