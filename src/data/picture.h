// Images as files store them, before they are resized.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace troika::data {

struct PictureSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool operator==(const PictureSize&) const = default;
};

/// A rectangle in an image, in pixels from its top left corner. Edges may lie within a pixel.
struct Part {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  bool operator==(const Part&) const = default;
};

struct Picture {
  PictureSize size;
  std::int64_t channels = 3;        ///< 1 (luminance) or 3 (red, green, blue).
  std::vector<std::uint8_t> bytes;  ///< [height,width,channels].
};

struct DecodeOptions {
  std::int64_t channels = 3;  ///< 1 or 3.
  /// A decoder that can shrink an image while it decodes may do so, down to this size.
  PictureSize least{};
};

/// Allocates space for the pixels of an image.
Picture make_picture(PictureSize size, std::int64_t channels);

/// Luminance of red, green and blue, as in JPEG (ITU-R BT.601).
inline std::uint8_t luminance(int red, int green, int blue) {
  // Coefficients in 1/65536; their sum is 65536.
  return static_cast<std::uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

/// "'PATH': problem". The problem includes what to do.
[[nodiscard]] Error image_error(const std::string& path, const std::string& problem);

/// Throws Error(file) for an image with so many pixels that decoding it could exhaust memory: a
/// small file may claim any size.
void check_pixel_count(const std::string& path, PictureSize size);

/// The part of an image, as large as possible around its centre, that has the shape of `target`.
Part centre_part(PictureSize image, PictureSize target);

}  // namespace troika::data
