// The products of a convolution, which its three phases and those of its transpose all sum, each
// into another tensor.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/shape.h"

namespace troika {

struct WindowSweep {
  const Shape& image;   ///< [n, groups*i, h, w]: what the window slides over.
  const Shape& weight;  ///< [groups*o, i, kh, kw]
  const Shape& places;  ///< [n, groups*o, oh, ow]: one element per place of the window.
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
};

/// Calls visit(at image, at weight, at places) with element numbers, for each product inside the
/// image.
template <class Visit>
void for_each_product(const WindowSweep& c, Visit&& visit) {
  std::int64_t in = c.weight[1], out = c.weight[0], groups = c.image[1] / in;
  auto element = [](const Shape& s, std::int64_t a, std::int64_t b, std::int64_t h,
                    std::int64_t w) { return ((a * s[1] + b) * s[2] + h) * s[3] + w; };
  auto each_tap = [&](std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t row,
                      std::int64_t column) {
    std::int64_t channel = o / (out / groups) * in + i;
    for (std::int64_t kh = 0; kh < c.weight[2]; ++kh) {
      std::int64_t h = row * c.stride[0] - c.pad[0] + kh * c.dilation[0];
      if (h < 0 || h >= c.image[2]) continue;
      for (std::int64_t kw = 0; kw < c.weight[3]; ++kw) {
        std::int64_t w = column * c.stride[1] - c.pad[1] + kw * c.dilation[1];
        if (w < 0 || w >= c.image[3]) continue;
        visit(element(c.image, n, channel, h, w), element(c.weight, o, i, kh, kw),
              element(c.places, n, o, row, column));
      }
    }
  };
  for (std::int64_t n = 0; n < c.image[0]; ++n)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t row = 0; row < c.places[2]; ++row)
        for (std::int64_t column = 0; column < c.places[3]; ++column)
          for (std::int64_t i = 0; i < in; ++i) each_tap(n, o, i, row, column);
}

}  // namespace troika
