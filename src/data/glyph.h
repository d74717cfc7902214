// Strokes of the ten handwritten digits in the unit square, a few variants of each.
#pragma once

#include <span>

namespace troika::data {

struct Point {
  double x = 0;
  double y = 0;  ///< Downwards.
};

/// A line through points: rounded (a Catmull-Rom curve) or with corners.
struct Stroke {
  bool curved = false;
  std::span<const Point> points;
};

struct Glyph {
  std::span<const Stroke> strokes;
};

/// The ways to write `digit` (0 to 9), at least two.
std::span<const Glyph> glyphs(int digit);

}  // namespace troika::data
