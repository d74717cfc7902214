#include "data/augmentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "base/random.h"

namespace troika::data {
namespace {

constexpr std::string_view kCrop = "crop ";

std::int64_t parse_crop(const std::string& step, const Shape& shape) {
  auto pixels = parse_number<std::int64_t>(std::string_view(step).substr(kCrop.size()));
  std::int64_t most = std::min(shape[1], shape[2]) - 1;
  if (!pixels || *pixels < 1 || *pixels > most)
    throw Error(ErrorKind::usage, fmt::format("augmentation '{}' must give a whole number of "
                                              "pixels from 1 to {} for images of {}x{}",
                                              step, most, shape[1], shape[2]));
  return *pixels;
}

/// The row that starts `from` columns further left or right, in place.
void shift_row(std::span<const float> source, std::span<float> row, std::int64_t from) {
  auto width = static_cast<std::int64_t>(row.size());
  std::int64_t begin = std::max<std::int64_t>(0, -from);
  std::int64_t end = std::min(width, width - from);
  const float* first = source.data() + begin + from;
  // Source and destination may be the same row, so the copy runs away from what is still unread.
  if (from >= 0)
    std::copy(first, first + (end - begin), row.data() + begin);
  else
    std::copy_backward(first, first + (end - begin), row.data() + end);
  std::fill(row.begin(), row.begin() + begin, 0.0F);
  std::fill(row.begin() + end, row.end(), 0.0F);
}

/// Works in place: rows are visited in the order in which none is overwritten before it has been
/// read.
void shift_plane(std::span<float> plane, std::int64_t width, std::int64_t down,
                 std::int64_t right) {
  std::int64_t height = static_cast<std::int64_t>(plane.size()) / width;
  auto row = [&](std::int64_t y) {
    return plane.subspan(static_cast<std::size_t>(y * width), static_cast<std::size_t>(width));
  };
  for (std::int64_t step = 0; step < height; ++step) {
    std::int64_t y = down >= 0 ? step : height - 1 - step;
    std::int64_t from = y + down;
    if (from >= 0 && from < height)
      shift_row(row(from), row(y), right);
    else
      std::ranges::fill(row(y), 0.0F);
  }
}

// Ranges of "random_crop", from the paper. A part that does not fit into the image is drawn again.
constexpr double kLeastArea = 0.08, kMostArea = 1.0;
constexpr double kNarrowest = 3.0 / 4, kWidest = 4.0 / 3;
constexpr std::uint64_t kTries = 10;
constexpr std::uint64_t kTriesKept = 16;  // Numbers set apart for each sample.

/// One attempt to choose a part of an image; nothing if it does not fit.
std::optional<Part> try_part(const std::array<double, 4>& random, PictureSize image) {
  auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  double area = width * height * (kLeastArea + random[0] * (kMostArea - kLeastArea));
  // Uniform in the logarithm, so that 3:4 and 4:3 are equally likely.
  double aspect = kNarrowest * std::pow(kWidest / kNarrowest, random[1]);
  Part part{.width = std::round(std::sqrt(area * aspect)),
            .height = std::round(std::sqrt(area / aspect))};
  if (part.width < 1 || part.height < 1 || part.width > width || part.height > height) return {};
  part.x = std::floor(random[2] * (width - part.width + 1));
  part.y = std::floor(random[3] * (height - part.height + 1));
  return part;
}

/// The largest part in the centre of an image that is neither too narrow nor too wide.
Part largest_part(PictureSize image) {
  auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  Part part{.width = std::min(width, height * kWidest),
            .height = std::min(height, width / kNarrowest)};
  part.x = (width - part.width) / 2;
  part.y = (height - part.height) / 2;
  return part;
}

}  // namespace

Augmentation::Augmentation(const std::vector<std::string>& steps, const Shape& shape,
                           std::uint64_t seed)
    : seed_(seed) {
  if (!steps.empty() && shape.rank() != 3)
    throw Error(
        ErrorKind::usage,
        fmt::format("augmentation '{}' needs images, but the samples have shape {}; remove it",
                    steps[0], to_string(shape)));
  for (const std::string& step : steps) add_step(step, shape);
  if (!steps.empty()) {
    height_ = shape[1];
    width_ = shape[2];
  }
}

void Augmentation::add_step(const std::string& step, const Shape& shape) {
  if (step == "flip")
    flip_ = true;
  else if (step.starts_with(kCrop))
    crop_ = parse_crop(step, shape);
  else if (step == "random_crop")
    random_crop_ = true;
  else
    throw Error(ErrorKind::usage,
                fmt::format("unknown augmentation '{}'; there are \"crop PIXELS\", \"flip\" and "
                            "\"random_crop\"",
                            step));
}

Part Augmentation::random_part(std::int64_t sample, std::int64_t epoch, PictureSize image) const {
  RandomStream random{
      .key = seed_, .stream = hash_text("random_crop"), .step = static_cast<std::uint32_t>(epoch)};
  for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
    // Attempts of different samples never share a block of the stream.
    std::uint64_t block = static_cast<std::uint64_t>(sample) * kTriesKept + attempt;
    if (auto part = try_part(random.uniforms(block), image)) return *part;
  }
  return largest_part(image);
}

void Augmentation::apply(std::int64_t sample, std::int64_t epoch, std::span<float> pixels) const {
  if (crop_ == 0 && !flip_) return;
  RandomStream random{
      .key = seed_, .stream = hash_text("augment"), .step = static_cast<std::uint32_t>(epoch)};
  // One draw per sample and epoch: all channels move together, and the result does not depend on
  // the thread or the order in which samples are read.
  auto words = random.words(static_cast<std::uint64_t>(sample));
  auto offset = [&](std::uint32_t word) {
    return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(2 * crop_ + 1)) - crop_;
  };
  if (crop_ > 0) {
    auto plane = static_cast<std::size_t>(height_ * width_);
    for (std::size_t at = 0; at < pixels.size(); at += plane)
      shift_plane(pixels.subspan(at, plane), width_, offset(words[0]), offset(words[1]));
  }
  if (!flip_ || (words[2] & 1) == 0) return;
  auto width = static_cast<std::size_t>(width_);
  for (std::size_t at = 0; at < pixels.size(); at += width)
    std::ranges::reverse(pixels.subspan(at, width));
}

}  // namespace troika::data
