#include "data/picture.h"

#include <fmt/format.h>

#include <algorithm>

namespace troika::data {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;  // 192 MiB in colour, per thread.

}  // namespace

Picture make_picture(PictureSize size, std::int64_t channels) {
  Picture picture{.size = size, .channels = channels, .bytes = {}};
  picture.bytes.resize(static_cast<std::size_t>(size.width * size.height * channels));
  return picture;
}

Error image_error(const std::string& path, const std::string& problem) {
  return {ErrorKind::file, fmt::format("'{}': {}", path, problem)};
}

void check_pixel_count(const std::string& path, PictureSize size) {
  // Divides instead of multiplying: a false header must not overflow the product.
  bool fits = size.width > 0 && size.height > 0 && size.height <= kMostPixels / size.width;
  if (!fits)
    throw image_error(path, fmt::format("an image of {} x {} pixels is over the limit of {} "
                                        "pixels; remove it or save it smaller",
                                        size.width, size.height, kMostPixels));
}

Part centre_part(PictureSize image, PictureSize target) {
  auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  auto wide = static_cast<double>(target.width), high = static_cast<double>(target.height);
  double scale = std::min(width / wide, height / high);
  Part part{.width = wide * scale, .height = high * scale};
  part.x = (width - part.width) / 2;
  part.y = (height - part.height) / 2;
  return part;
}

}  // namespace troika::data
