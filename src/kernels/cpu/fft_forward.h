// The convolution by Fourier transforms that computes one image from another: the places of a
// convolution, or, with flipped weights, the gradient of its image.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "kernels/cpu/fft_tile.h"
#include "kernels/cpu/offer.h"

namespace troika {

/// How the weight lies: [to][from] or [from][to] blocks of window x lanes x lanes.
struct FftWeights {
  std::int64_t to_stride, from_stride;  ///< From block to block, in elements.
  bool to_last;                         ///< The last dimension is the lanes of `to`.
  bool flipped;                         ///< Read from the last element of the window to the first.
};

struct FftForward {
  FftPlan plan;
  FftWeights weights;
  std::size_t from_at, weight_at, to_at;  ///< Operands.
  std::optional<std::size_t> bias_at;
  std::function<void(std::span<float>)> activation;  ///< May be empty.

  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// One thread's part of each step, and what the steps hand on.
  struct Work {
    float *weights, *from, *to, *tile, *turned;
  };
  std::int64_t turned_floats() const;
  std::int64_t thread_floats() const { return plan.tile_floats() + turned_floats(); }
  Work work(const Launch& launch, int thread) const;

  /// The team's; nobody waits for the others in the end.
  void transform_group(const float* images, Range tiles, const Work& work) const;
  void transform_weights(const float* stored, std::int64_t to_block, std::int64_t from_block,
                         const Work& work) const;
  void multiply_point(std::int64_t point, std::int64_t tiles, std::int64_t blocks,
                      const Work& work) const;
  /// The tile, whose spectrum is row `row` of its group.
  void finish(const Launch& launch, std::int64_t tile, std::int64_t row, std::int64_t block,
              const Work& work) const;
};

/// Tile `tile` of the images that windows read, row `row` of its group: its spectrum.
void transform_from(const FftPlan& plan, const float* images, std::int64_t tile, std::int64_t row,
                    std::int64_t block, float* spectra, float* work);

/// What of a tile that begins at `begin` lies inside [0, extent), counted from its first element.
Range inside(std::int64_t begin, std::int64_t length, std::int64_t extent);

}  // namespace troika
