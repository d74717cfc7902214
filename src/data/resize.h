// Crops an image and resizes the crop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/picture.h"
#include "tensor/shape.h"

namespace troika::data {

/// Pixels in memory, in any order of channels. T is std::uint8_t or float.
template <class T>
struct PixelView {
  std::span<const T> values;
  PictureSize size;
  std::size_t pixel_step = 1;  ///< From a pixel to its right neighbour.
  std::size_t channel_step = 1;
};

PixelView<std::uint8_t> view_of(const Picture& picture);
/// [C,H,W].
PixelView<float> view_of(std::span<const float> pixels, const Shape& shape);

/// Fills `pixels`, of `shape` [C,H,W], with `part` of the image. Linear interpolation; where the
/// part shrinks, its weights (a triangle) become wider by the same factor, so that every pixel of
/// the part counts. Bytes are scaled to [0,1] as by scale_byte. A part of exactly the target's
/// size at whole pixels is copied.
template <class T>
void resize(const PixelView<T>& image, const Part& part, const Shape& shape,
            std::span<float> pixels);

}  // namespace troika::data
