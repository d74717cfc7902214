// A small grey image on which lines are drawn with soft edges.
#pragma once

#include <array>
#include <cstddef>

#include "data/glyph.h"

namespace troika::data {

class Canvas {
 public:
  static constexpr int kSide = 28;

  /// A line with round ends, `radius` pixels to each side; a pixel keeps the largest value of all
  /// lines.
  /// Coordinates are pixels; (0, 0) is the centre of the first one.
  void draw_line(Point from, Point to, double radius);

  /// Row by row, each in [0, 1]: how much of the pixel is covered.
  const std::array<double, kSide * kSide>& pixels() const { return pixels_; }

 private:
  std::array<double, kSide * kSide> pixels_{};
};

}  // namespace troika::data
