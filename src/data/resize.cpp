#include "data/resize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/image_source.h"

namespace troika::data {
namespace {

/// The neighbouring source pixels that make one target pixel, and the weight of each.
struct Taps {
  std::size_t begin = 0;
  std::span<const float> weights;
  std::size_t end() const { return begin + weights.size(); }
};

/// The taps of all pixels along one side of the target.
class Filter {
 public:
  /// Pixels [start, start + length) of `extent` become `count`.
  Filter(double start, double length, std::int64_t extent, std::int64_t count) {
    // Pixel i covers [i, i + 1), so its centre is at i + 0.5 in both grids. When enlarging, the
    // reach stays one source pixel (linear interpolation); when shrinking, it grows with the scale.
    double scale = length / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i)
      add(start + (static_cast<double>(i) + 0.5) * scale, std::max(1.0, scale), extent);
  }

  std::size_t count() const { return begins_.size(); }
  /// True if each target pixel is one source pixel.
  bool only_copies() const {
    return weights_.size() == count() && begins_.back() - begins_.front() + 1 == count();
  }
  Taps operator[](std::size_t i) const {
    std::size_t first = i == 0 ? 0 : ends_[i - 1];
    return {begins_[i], std::span(weights_).subspan(first, ends_[i] - first)};
  }

 private:
  void add(double centre, double reach, std::int64_t extent) {
    auto bounded = [&](double at) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, extent - 1);
    };
    std::int64_t begin = bounded(std::floor(centre - reach));
    std::int64_t last = bounded(std::ceil(centre + reach));
    auto weight_at = [&](std::int64_t pixel) {
      return 1 - std::abs(static_cast<double>(pixel) + 0.5 - centre) / reach;
    };
    while (begin < last && weight_at(begin) <= 0) ++begin;
    while (last > begin && weight_at(last) <= 0) --last;
    // At the border of the image the triangle is cut off, so the weights are made to add up to 1.
    double sum = 0;
    for (std::int64_t pixel = begin; pixel <= last; ++pixel) sum += weight_at(pixel);
    for (std::int64_t pixel = begin; pixel <= last; ++pixel)
      weights_.push_back(static_cast<float>(weight_at(pixel) / sum));
    begins_.push_back(static_cast<std::size_t>(begin));
    ends_.push_back(weights_.size());
  }

  std::vector<std::size_t> begins_;  // The first source pixel of each target pixel.
  std::vector<std::size_t> ends_;    // Where its weights end.
  std::vector<float> weights_;
};

/// A table, because dividing takes longer than all else where nothing is resized.
constexpr std::array<float, 256> kScaledBytes = [] {
  std::array<float, 256> scaled{};
  for (std::size_t byte = 0; byte < scaled.size(); ++byte)
    scaled[byte] = scale_byte(static_cast<std::uint8_t>(byte));
  return scaled;
}();

float value_of(std::uint8_t byte) { return kScaledBytes[byte]; }
float value_of(float pixel) { return pixel; }

/// One channel of one source row, narrowed to the width of the target.
template <class T>
void narrow_row(const T* row, std::size_t step, const Filter& columns, std::span<float> line) {
  if (columns.only_copies()) {
    const T* from = row + columns[0].begin * step;
    for (std::size_t x = 0; x < line.size(); ++x) line[x] = value_of(from[x * step]);
    return;
  }
  for (std::size_t x = 0; x < line.size(); ++x) {
    Taps taps = columns[x];
    const T* from = row + taps.begin * step;
    float sum = 0;
    for (float weight : taps.weights) {
      sum += weight * value_of(*from);
      from += step;
    }
    line[x] = sum;
  }
}

void add_scaled(std::span<const float> line, float weight, float* row) {
  for (std::size_t x = 0; x < line.size(); ++x) row[x] += weight * line[x];
}

/// One channel. Source rows are narrowed once each and added to the target rows that need them.
template <class T>
void resize_plane(const PixelView<T>& image, std::size_t channel, const Filter& rows,
                  const Filter& columns, std::span<float> plane) {
  // The taps of successive target rows move downwards only: rows before `oldest` are complete.
  std::size_t width = columns.count(), oldest = 0;
  std::size_t source_width = static_cast<std::size_t>(image.size.width) * image.pixel_step;
  std::vector<float> line(width);
  std::ranges::fill(plane, 0.0F);
  for (std::size_t y = rows[0].begin; y < rows[rows.count() - 1].end(); ++y) {
    while (rows[oldest].end() <= y) ++oldest;
    // No target row needs this source row.
    if (rows[oldest].begin > y) continue;
    const T* from = image.values.data() + channel * image.channel_step + y * source_width;
    narrow_row(from, image.pixel_step, columns, line);
    for (std::size_t to = oldest; to < rows.count() && rows[to].begin <= y; ++to)
      if (y < rows[to].end())
        add_scaled(line, rows[to].weights[y - rows[to].begin], &plane[to * width]);
  }
}

}  // namespace

PixelView<std::uint8_t> view_of(const Picture& picture) {
  return {picture.bytes, picture.size, static_cast<std::size_t>(picture.channels), 1};
}

PixelView<float> view_of(std::span<const float> pixels, const Shape& shape) {
  return {pixels, {shape[2], shape[1]}, 1, static_cast<std::size_t>(shape[1] * shape[2])};
}

template <class T>
void resize(const PixelView<T>& image, const Part& part, const Shape& shape,
            std::span<float> pixels) {
  Filter columns(part.x, part.width, image.size.width, shape[2]);
  Filter rows(part.y, part.height, image.size.height, shape[1]);
  auto plane = static_cast<std::size_t>(shape[1] * shape[2]);
  for (std::size_t channel = 0; channel * plane < pixels.size(); ++channel)
    resize_plane(image, channel, rows, columns, pixels.subspan(channel * plane, plane));
}

template void resize(const PixelView<std::uint8_t>&, const Part&, const Shape&, std::span<float>);
template void resize(const PixelView<float>&, const Part&, const Shape&, std::span<float>);

}  // namespace troika::data
