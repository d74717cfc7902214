// The gradient of a convolution's weight by Fourier transforms.
#pragma once

#include "kernels/cpu/fft_forward.h"
#include "kernels/cpu/fft_product.h"

namespace troika {

/// Writes blocks of window x lanes x lanes with the lanes of `to` last, [to][from].
struct FftWeight {
  FftPlan plan;
  std::size_t image_at, places_at, weight_at;  ///< Operands.

  Bytes scratch() const;
  void operator()(const Launch& launch) const;

 private:
  struct Work {
    float *sums, *image, *places, *tile;
  };
  Work work(const Launch& launch, int thread) const;

  /// The team's; nobody waits for the others in the end.
  void transform_group(const float* image, Range tiles, const Work& work) const;
  void transform_places(const float* places, std::int64_t tile, std::int64_t row,
                        std::int64_t block, const Work& work) const;
  /// `product` has the sizes of its panel and group.
  void add_products(std::int64_t point, SpectrumProduct product, const Work& work) const;
  void finish(float* weight, std::int64_t to_block, std::int64_t from_block,
              const Work& work) const;
};

}  // namespace troika
