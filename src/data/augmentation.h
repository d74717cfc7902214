// Seeded changes to training images: what is done to a sample depends on (seed, epoch, sample) and
// nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace troika::data {

/// "crop P": shifts the image by up to P pixels each way, black where nothing was (pad by P, crop
/// back at random). "flip": mirrors it left to right, every other time.
class Augmentation {
 public:
  /// Throws Error(usage) for an unknown step, a bad number, or steps on samples that are no images.
  Augmentation(const std::vector<std::string>& steps, const Shape& shape, std::uint64_t seed);

  void apply(std::int64_t sample, std::int64_t epoch, std::span<float> pixels) const;

 private:
  void add_step(const std::string& step, const Shape& shape);

  std::uint64_t seed_;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t crop_ = 0;
  bool flip_ = false;
};

}  // namespace troika::data
