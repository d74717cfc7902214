#include "data/normalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/image_source.h"

namespace troika::data {
namespace {

constexpr std::int64_t kMeasuredImages = 1000, kMeasuredRows = 100'000;
constexpr double kLeastDeviation = 1e-30;  // Its inverse must be finite in f32.

float entry(const std::vector<float>& values, std::size_t channel) {
  return values.size() == 1 ? values[0] : values[channel];
}

struct Sums {
  double first = 0;
  double second = 0;
};

void add(std::span<Sums> sums, std::span<const float> pixels) {
  std::size_t plane = pixels.size() / sums.size();
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    double value = pixels[i];
    sums[i / plane].first += value;
    sums[i / plane].second += value * value;
  }
}

}  // namespace

void check(const Normalization& normalization, std::size_t channels) {
  auto fits = [&](const std::vector<float>& values) {
    return values.size() == 1 || values.size() == channels;
  };
  if (!fits(normalization.mean) || !fits(normalization.deviation))
    throw Error(ErrorKind::usage,
                fmt::format("normalisation has {} means and {} deviations for samples of {} "
                            "channels or features; give one of each for all of them, one for each, "
                            "or \"auto\"",
                            normalization.mean.size(), normalization.deviation.size(), channels));
  bool usable = std::ranges::all_of(normalization.mean, [](float m) { return std::isfinite(m); }) &&
                std::ranges::all_of(normalization.deviation,
                                    [](float d) { return std::isfinite(d) && d > 0; });
  if (!usable)
    throw Error(ErrorKind::usage,
                "Normalisation needs finite means and deviations above zero; correct them or use "
                "\"auto\".");
}

Normalization measure(const ImageSource& source, Range range) {
  std::size_t channels = source.channels();
  std::vector<float> pixels(static_cast<std::size_t>(source.shape().elements()));
  std::vector<Sums> sums(channels);
  // A feature may differ in few rows only, and a row is small.
  std::int64_t images =
      std::min(range.extent(), source.shape().rank() == 1 ? kMeasuredRows : kMeasuredImages);
  for (std::int64_t i = 0; i < images; ++i) {
    source.read_pixels(part_of(range.extent(), i, images).begin + range.begin, pixels);
    add(sums, pixels);
  }
  Normalization result;
  double count = static_cast<double>(images) * static_cast<double>(pixels.size() / channels);
  for (const Sums& sum : sums) {
    double mean = sum.first / count;
    double deviation = std::sqrt(std::max(0.0, sum.second / count - mean * mean));
    result.mean.push_back(static_cast<float>(mean));
    bool varies =
        std::isfinite(deviation) && deviation > std::max(kLeastDeviation, 1e-6 * std::abs(mean));
    result.deviation.push_back(varies ? static_cast<float>(deviation) : 1.0F);
  }
  return result;
}

void apply(const Normalization& normalization, std::size_t channels, std::span<float> pixels) {
  std::size_t plane = pixels.size() / channels;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    float mean = entry(normalization.mean, channel);
    float scale = 1 / entry(normalization.deviation, channel);
    for (float& pixel : pixels.subspan(channel * plane, plane)) pixel = (pixel - mean) * scale;
  }
}

}  // namespace troika::data
