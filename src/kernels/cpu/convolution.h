// Convolutions as oneDNN knows them, for conv2d and its transpose: an image, a weight, and the
// places where the window stops. Each of the three can be what is computed.
#pragma once

#include <array>
#include <optional>

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

/// In every pair of layouts that oneDNN is fast in, best first by rule.
Offers convolution_offers(const Convolution& convolution, const Request& request);

}  // namespace troika
