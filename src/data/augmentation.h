// Random changes to training images, which depend on (seed, epoch, sample) and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/picture.h"
#include "tensor/shape.h"

namespace troika::data {

/// "crop P": shifts the image by up to P pixels each way, filled with black (pad by P, crop back
/// at random). "flip": mirrors it left to right, with probability 1/2. "random_crop": a random
/// part of the image, resized: 8 to 100 % of its area, 3:4 to 4:3 in shape (Szegedy et al., "Going
/// deeper with convolutions", 2015, doi:10.1109/CVPR.2015.7298594, section 6). It comes before the
/// other two, in whatever order they are given.
class Augmentation {
 public:
  /// Throws Error(usage) for an unknown step, a bad number, or steps on samples that are not
  /// images.
  Augmentation(const std::vector<std::string>& steps, const Shape& shape, std::uint64_t seed);

  bool crops_at_random() const { return random_crop_; }
  /// The part of an image that "random_crop" takes.
  Part random_part(std::int64_t sample, std::int64_t epoch, PictureSize image) const;

  /// The other steps.
  void apply(std::int64_t sample, std::int64_t epoch, std::span<float> pixels) const;

 private:
  void add_step(const std::string& step, const Shape& shape);

  std::uint64_t seed_;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t crop_ = 0;
  bool flip_ = false;
  bool random_crop_ = false;
};

}  // namespace troika::data
