// Convolutions for conv2d and its transpose: an image, a weight and an output, which has one
// element per position of the window. Each of the three tensors can be the one that is computed.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/offers.h"

namespace troika {

struct Convolution {
  enum class Result { output, image, weight };

  TensorSpec image, weight, output;
  std::array<std::int64_t, 2> stride{1, 1}, dilation{1, 1}, pad{0, 0};
  std::int64_t groups = 1;
  Result result = Result::output;
  /// Indices of the three tensors among the kernel's operands.
  std::size_t image_at = 0, weight_at = 1, output_at = 2;
  Tail tail{};  ///< Applied to `output`; its bias is operand 2.
};

/// Returns the convolution that a phase of the operator computes, or nothing if no algorithm
/// supports the operators fused to it.
std::optional<Convolution> convolution_of(const Conv2d& op, const Request& request);

/// Returns the offers of every algorithm. Their order has no meaning: measured times decide.
Offers convolution_offers(const Convolution& convolution, const Request& request);

/// Returns the algorithms that do not support the convolution, each with the reason.
std::vector<DeclinedAlgorithm> declined_algorithms(const Convolution& convolution,
                                                   const Request& request);

/// Images in the layout n,C,h,w,c: blocks of `lanes` channels, which lie together per pixel.
struct BlockedImages {
  std::int64_t channels, blocks, height, width, lanes;

  std::int64_t plane() const { return height * width * lanes; }
  std::int64_t offset(std::int64_t sample, std::int64_t block) const {
    return (sample * blocks + block) * plane();
  }
};
BlockedImages blocked_images(const TensorSpec& images, std::int64_t lanes);

/// Strides of a weight stored in blocks of window x lanes x lanes, [to][from] or [from][to], where
/// `from` are the channels that a kernel reads and `to` those that it writes.
struct BlockedWeights {
  std::int64_t to_stride, from_stride;  ///< Between neighbouring blocks, in elements.
  bool to_last;                         ///< The last dimension holds the lanes of `to`.
  bool flipped;                         ///< The window is read from its last element to its first.
};
/// `output_lanes_last`: the last dimension holds channels of the convolution's output. For the
/// gradient of the image a kernel reads the output, so the two roles are exchanged.
BlockedWeights blocked_weights(const Convolution& convolution, std::int64_t lanes,
                               bool output_lanes_last);

/// A candidate with image and output blocked by `lanes`, and plain layouts for the other operands.
Candidate blocked_candidate(const Convolution& convolution, const Request& request,
                            std::string algorithm, std::int64_t lanes, Layout weight);
/// Weight blocks with the lanes of the output last, and with those of the image last.
Layout output_last_layout(std::int64_t lanes);
Layout image_last_layout(std::int64_t lanes);

/// The first element of `to` that a tile computes.
struct TileOrigin {
  std::int64_t sample, y, x;
};

}  // namespace troika
