// Digits drawn by Troika itself, similar to handwriting: a data set of any size that needs no
// files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/random.h"
#include "data/canvas.h"
#include "data/image_source.h"
#include "data/uri.h"

namespace troika::data {

struct DrawnDigit {
  std::int32_t label = 0;
  std::array<std::uint8_t, Canvas::kSide * Canvas::kSide> pixels{};
};

/// A pure function of the stream: digit, way of writing, slant, size, place, pen, noise.
DrawnDigit draw_digit(const RandomStream& random);

/// digits:train (10,000 unless ?size=N) and digits:test (2,000), 28x28; each is its own stream of
/// ?seed=N (default 1), so no image of one is in the other. Throws Error(usage) for any other name.
std::unique_ptr<ImageSource> open_digits(const Uri& uri, int threads);

}  // namespace troika::data
