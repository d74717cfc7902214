#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/digits.h"

namespace troika::data {
namespace {

constexpr double kPixels = Canvas::kSide;
constexpr int kStepsPerSpan = 6;
/// The noise uses the numbers of the stream from this block of four on; all others come before it.
constexpr std::uint64_t kNoiseBlock = 1 << 14;

/// Numbers from the stream, one after the other.
class Dice {
 public:
  explicit Dice(const RandomStream& random) : random_(random) {}
  double between(double low, double high) { return low + (high - low) * random_.uniform(next_++); }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(between(0, static_cast<double>(bound)));
  }

 private:
  const RandomStream& random_;
  std::uint64_t next_ = 0;
};

/// A slow wave over the unit square: bends strokes, yet keeps joined strokes joined.
struct Wave {
  double amplitude, along_x, along_y, phase;

  explicit Wave(Dice& dice)
      : amplitude(dice.between(0.02, 0.075)),
        along_x(dice.between(-5, 5)),
        along_y(dice.between(-5, 5)),
        phase(dice.between(0, 2 * std::numbers::pi)) {}
  double at(Point p) const { return amplitude * std::sin(along_x * p.x + along_y * p.y + phase); }
};

/// From the unit square of a glyph to pixels.
class Hand {
 public:
  explicit Hand(Dice& dice)
      : wave_x_(dice),
        wave_y_(dice),
        height_(dice.between(15, 21)),
        width_(height_ * dice.between(0.52, 0.85)),
        shear_(dice.between(-0.15, 0.4)),
        turn_(dice.between(-0.25, 0.25)),
        centre_{kPixels / 2 - 0.5 + dice.between(-2, 2), kPixels / 2 - 0.5 + dice.between(-2, 2)} {}

  Point place(Point p) const {
    double y = (p.y + wave_y_.at(p) - 0.5) * height_;
    double x = (p.x + wave_x_.at(p) - 0.5) * width_ - shear_ * y;
    return {centre_.x + x * turn_.cosine - y * turn_.sine,
            centre_.y + x * turn_.sine + y * turn_.cosine};
  }

 private:
  struct Turn {
    double cosine, sine;
    explicit Turn(double radians) : cosine(std::cos(radians)), sine(std::sin(radians)) {}
  };

  Wave wave_x_, wave_y_;
  double height_, width_, shear_;
  Turn turn_;
  Point centre_;
};

/// Between b and c at t in [0,1], with a and d as the neighbours (Catmull and Rom, 1974,
/// doi:10.1016/B978-0-12-079050-0.50020-5).
double catmull_rom(std::array<double, 4> p, double t) {
  auto [a, b, c, d] = p;
  return 0.5 * (2 * b + t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))));
}

Point point_on(const Stroke& stroke, std::size_t span, double t) {
  auto at = [&](std::size_t i) { return stroke.points[std::min(i, stroke.points.size() - 1)]; };
  Point a = at(span == 0 ? 0 : span - 1);
  Point b = at(span), c = at(span + 1), d = at(span + 2);
  if (!stroke.curved) return {b.x + t * (c.x - b.x), b.y + t * (c.y - b.y)};
  return {catmull_rom({a.x, b.x, c.x, d.x}, t), catmull_rom({a.y, b.y, c.y, d.y}, t)};
}

void draw_stroke(const Stroke& stroke, const Hand& hand, double radius, Canvas& canvas) {
  Point from = hand.place(stroke.points[0]);
  for (std::size_t span = 0; span + 1 < stroke.points.size(); ++span)
    for (int step = 1; step <= kStepsPerSpan; ++step) {
      Point to = hand.place(point_on(stroke, span, static_cast<double>(step) / kStepsPerSpan));
      canvas.draw_line(from, to, radius);
      from = to;
    }
}

}  // namespace

DrawnDigit draw_digit(const RandomStream& random) {
  Dice dice(random);
  DrawnDigit digit{.label = static_cast<std::int32_t>(dice.below(10)), .pixels = {}};
  std::span<const Glyph> ways = glyphs(digit.label);
  const Glyph& glyph = ways[dice.below(ways.size())];
  Hand hand(dice);
  double radius = dice.between(0.6, 1.5);
  double ink = dice.between(0.75, 1.0);
  double noise = dice.between(0, 0.15);
  Canvas canvas;
  static_assert(Canvas::kSide * Canvas::kSide % 4 == 0);
  for (const Stroke& stroke : glyph.strokes) draw_stroke(stroke, hand, radius, canvas);
  for (std::size_t i = 0; i < digit.pixels.size(); i += 4) {
    std::array<double, 4> grains = random.uniforms(kNoiseBlock + i / 4);
    for (std::size_t j = 0; j < 4; ++j) {
      double value = std::clamp(ink * canvas.pixels()[i + j] + noise * (grains[j] - 0.5), 0.0, 1.0);
      digit.pixels[i + j] = static_cast<std::uint8_t>(255 * value + 0.5);
    }
  }
  return digit;
}

}  // namespace troika::data
