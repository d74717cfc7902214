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

/// Whether backward reads the output (relu, sigmoid, tanh), so that the input need not be kept.
bool backward_reads_output(ActivationKind kind);

}  // namespace troika
