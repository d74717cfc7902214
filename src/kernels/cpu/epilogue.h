// Operators that may be fused to a convolution or a linear layer: a bias per output channel, then a
// residual sum, then an activation.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "kernels/cpu/offers.h"

namespace troika {

struct Tail {
  bool bias = false;
  bool residual = false;
  std::optional<Activation> activation;
};

/// Returns the fused operators of the key as a tail of an operator whose channels are dimension
/// `channel_dim` of its output, or nothing if they are other operators.
std::optional<Tail> tail_of(const KernelKey& key, std::size_t channel_dim);

/// Returns the activation as a function that runs in place, on one thread.
std::function<void(std::span<float>)> in_place_loop(const Activation& op);

}  // namespace troika
