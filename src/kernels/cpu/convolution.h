// Convolutions as oneDNN knows them, for conv2d and its transpose: an image, a weight, and the
// places where the window stops. Each of the three can be what is computed.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/offer.h"

namespace troika {

struct Convolution {
  enum class Result { places, image, weight };

  TensorSpec image, weight, places;
  std::array<std::int64_t, 2> stride{1, 1}, dilation{1, 1}, pad{0, 0};
  std::int64_t groups = 1;
  Result result = Result::places;
  /// Which operand of the kernel each one is.
  std::size_t image_at = 0, weight_at = 1, places_at = 2;
  Tail tail{};  ///< Behind `places`; its bias is operand 2.
};

/// The convolution that a phase of the operator is; empty when nothing can do what is fused to it.
std::optional<Convolution> convolution_of(const Conv2d& op, const Request& request);

/// What every family of kernels has for it. Times decide among them, not their order.
Offers convolution_offers(const Convolution& convolution, const Request& request);

std::vector<DeclinedFamily> declined_families(const Convolution& convolution,
                                              const Request& request);

}  // namespace troika
