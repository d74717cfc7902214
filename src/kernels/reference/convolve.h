// The products of a convolution, which its three phases and those of its transpose all sum, each
// into another tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/region.h"
#include "tensor/shape.h"

namespace troika {

struct WindowSweep {
  const Shape& image;   ///< [n, groups*i, h, w]: the window slides over it.
  const Shape& weight;  ///< [groups*o, i, kh, kw]
  const Shape& output;  ///< [n, groups*o, oh, ow]: one element per position of the window.
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
};

/// Positions of the window along dimension 2 or 3 at which its element `tap` lies in the image.
inline Range positions_inside(const WindowSweep& c, std::size_t dim, std::int64_t tap) {
  // Position p reads index p*stride - before, which must lie in [0, extent): p from ceil(before /
  // stride) to floor((extent - 1 + before) / stride).
  const std::int64_t stride = c.stride[dim - 2],
                     before = c.pad[dim - 2] - tap * c.dilation[dim - 2];
  const std::int64_t last = c.image[dim] - 1 + before;
  std::int64_t begin = before <= 0 ? 0 : (before + stride - 1) / stride;
  std::int64_t end = last < 0 ? 0 : std::min(c.output[dim], last / stride + 1);
  return {std::min(begin, end), end};
}

/// Calls visit(at image, at weight, at output) with element numbers, for each product inside the
/// image. Outputs of one row come one after the other, so that the compiler can vectorise.
template <class Visit>
void for_each_product(const WindowSweep& c, Visit&& visit) {
  const std::int64_t in = c.weight[1], out = c.weight[0], groups = c.image[1] / in;
  auto element = [](const Shape& s, std::int64_t a, std::int64_t b, std::int64_t h,
                    std::int64_t w) { return ((a * s[1] + b) * s[2] + h) * s[3] + w; };
  auto each_position = [&](std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t kh,
                           std::int64_t kw) {
    // Output o belongs to group o / (out / groups), whose inputs begin at that many times `in`.
    const std::int64_t channel = o / (out / groups) * in + i, stride = c.stride[1];
    const std::int64_t at_weight = element(c.weight, o, i, kh, kw);
    const Range rows = positions_inside(c, 2, kh), columns = positions_inside(c, 3, kw);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      std::int64_t h = row * c.stride[0] - c.pad[0] + kh * c.dilation[0];
      std::int64_t at_image = element(c.image, n, channel, h, kw * c.dilation[1] - c.pad[1]);
      std::int64_t at_output = element(c.output, n, o, row, 0);
      for (std::int64_t column = columns.begin; column < columns.end; ++column)
        visit(at_image + column * stride, at_weight, at_output + column);
    }
  };
  for (std::int64_t n = 0; n < c.image[0]; ++n)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t kh = 0; kh < c.weight[2]; ++kh)
          for (std::int64_t kw = 0; kw < c.weight[3]; ++kw) each_position(n, o, i, kh, kw);
}

}  // namespace troika
