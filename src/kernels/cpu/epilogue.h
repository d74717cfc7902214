// What may be fused behind a convolution or a linear layer: a bias per output channel, then a
// residual sum, then an activation.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "kernels/cpu/offer.h"

namespace troika {

struct Tail {
  bool bias = false;
  bool residual = false;
  std::optional<Activation> activation;
};

/// The fused operators of the key as a tail of an operator whose channels are dimension
/// `channel_dim` of its output; empty when they are something else.
std::optional<Tail> tail_of(const KernelKey& key, std::size_t channel_dim);

/// The activation of so many elements, on one thread.
std::function<void(std::span<float>)> in_place_loop(const Activation& op);

}  // namespace troika
