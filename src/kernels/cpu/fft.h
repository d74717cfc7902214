// The two kernels that convolve by Fourier transforms: one computes an image from another, one the
// gradient of the weight.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "kernels/cpu/fft_plan.h"

namespace troika {

/// Computes the output of a convolution or, with flipped weights, the gradient of its image.
struct FftForward {
  FftPlan plan;
  BlockedWeights weights;
  std::size_t from_at, weight_at, to_at;  ///< Operands.
  std::optional<std::size_t> bias_at;
  std::function<void(std::span<float>)> activation;  ///< May be empty.

  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  /// Scratch: the spectra, which threads share, and one tile and turned weight block per thread.
  struct Work {
    float *weights, *from, *to, *tile, *turned;
  };
  std::int64_t turned_floats() const;
  std::int64_t thread_floats() const { return plan.tile_floats() + turned_floats(); }
  Work work(const Launch& launch, int thread) const;

  /// Called by all threads of the team; has no barrier at its end.
  void transform_group(const float* images, Range tiles, const Work& work) const;
  void transform_weights(const float* stored, std::int64_t to_block, std::int64_t from_block,
                         const Work& work) const;
  void multiply_point(std::int64_t point, std::int64_t tiles, std::int64_t blocks,
                      const Work& work) const;
  /// Restores the tile, whose spectrum is row `row` of its group.
  void finish(const Launch& launch, std::int64_t tile, std::int64_t row, std::int64_t block,
              const Work& work) const;
};

/// Computes the gradient of the weight: blocks of window x lanes x lanes with the lanes of `to`
/// last, [to][from].
struct FftWeight {
  FftPlan plan;
  std::size_t image_at, output_at, weight_at;  ///< Operands.

  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  struct Work {
    float *sums, *image, *output, *tile;
  };
  Work work(const Launch& launch, int thread) const;

  /// Called by all threads of the team; has no barrier at its end.
  void transform_group(const float* image, Range tiles, const Work& work) const;
  void transform_output(const float* output, std::int64_t tile, std::int64_t row,
                        std::int64_t block, const Work& work) const;
  /// `product` has the sizes of its panel and group.
  void add_products(std::int64_t point, SpectrumProduct product, const Work& work) const;
  void finish(float* weight, std::int64_t to_block, std::int64_t from_block,
              const Work& work) const;
};

}  // namespace troika
