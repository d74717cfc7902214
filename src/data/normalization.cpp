#include "data/normalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/image_source.h"
#include "data/worker_team.h"

namespace troika::data {
namespace {

constexpr std::int64_t kMeasuredImages = 1000, kMeasuredRows = 100'000;
constexpr std::int64_t kImagesAtOnce = 1000;  // Whose sums are kept apart.
constexpr double kLeastDeviation = 1e-30;     // Its inverse must be finite in f32.

float entry(const std::vector<float>& values, std::size_t channel) {
  return values.size() == 1 ? values[0] : values[channel];
}

/// Sums of the values and of their squares, in f64: a channel may have millions of f32 pixels.
struct Sums {
  double first = 0;
  double second = 0;
};

/// pixels: [C,H,W], one plane per channel; a row of features has planes of one value.
void add(std::span<Sums> sums, std::span<const float> pixels) {
  std::size_t plane = pixels.size() / sums.size();
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    double value = pixels[i];
    sums[i / plane].first += value;
    sums[i / plane].second += value * value;
  }
}

/// Sums per channel over evenly spaced images. Those of each image are kept apart and added in
/// order, so that the result does not depend on the number of threads.
std::vector<Sums> sum_images(const ImageSource& source, Range range, std::int64_t images,
                             int threads) {
  std::size_t channels = source.channels();
  WorkerTeam team(source.is_slow() ? threads : 1);
  std::vector<std::vector<float>> pixels(team.threads());
  std::vector<Sums> total(channels);
  for (std::int64_t first = 0; first < images; first += kImagesAtOnce) {
    std::int64_t count = std::min(kImagesAtOnce, images - first);
    // In blocks, because sums of 100,000 rows of many features may take gigabytes.
    std::vector<std::vector<Sums>> of_image(static_cast<std::size_t>(count));
    team.run(count, [&](std::int64_t image, std::size_t thread) {
      pixels[thread].resize(static_cast<std::size_t>(source.shape().elements()));
      source.read_pixels(part_of(range.extent(), first + image, images).begin + range.begin,
                         pixels[thread]);
      std::vector<Sums>& sums = of_image[static_cast<std::size_t>(image)];
      sums.resize(channels);
      add(sums, pixels[thread]);
    });
    for (const std::vector<Sums>& sums : of_image)
      for (std::size_t channel = 0; channel < channels; ++channel) {
        total[channel].first += sums[channel].first;
        total[channel].second += sums[channel].second;
      }
  }
  return total;
}

/// E[x²] - E[x]² cancels: below about 1e-6 of the mean, the deviation is rounding and not signal.
bool varies(double deviation, double mean) {
  return std::isfinite(deviation) && deviation > std::max(kLeastDeviation, 1e-6 * std::abs(mean));
}

double variance(const Sums& sums, double count) {
  double mean = sums.first / count;
  // Rounding may make the difference of equal values slightly negative.
  return std::max(0.0, sums.second / count - mean * mean);
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
                "normalisation needs finite means and deviations above zero; correct them or use "
                "\"auto\"");
}

Normalization measure(const ImageSource& source, Range range, int threads) {
  std::size_t channels = source.channels();
  auto pixels = static_cast<std::size_t>(source.shape().elements());
  // A feature may differ in few rows only, and a row is small.
  std::int64_t images =
      std::min(range.extent(), source.shape().rank() == 1 ? kMeasuredRows : kMeasuredImages);
  Normalization result;
  double count = static_cast<double>(images) * static_cast<double>(pixels / channels);
  for (const Sums& sum : sum_images(source, range, images, threads)) {
    double mean = sum.first / count;
    double deviation = std::sqrt(variance(sum, count));
    result.mean.push_back(static_cast<float>(mean));
    result.deviation.push_back(varies(deviation, mean) ? static_cast<float>(deviation) : 1.0F);
  }
  return result;
}

Normalization measure_targets(const ImageSource& source, Range range) {
  std::int64_t rows = std::min(range.extent(), kMeasuredRows);
  std::vector<float> numbers(static_cast<std::size_t>(source.numbers()));
  std::vector<Sums> sums(numbers.size());
  // One thread: numbers of a sample are few and need no decoding.
  for (std::int64_t row = 0; row < rows; ++row) {
    source.read_numbers(part_of(range.extent(), row, rows).begin + range.begin, numbers);
    add(sums, numbers);
  }
  Normalization result;
  auto count = static_cast<double>(rows);
  double sum_of_variances = 0, largest_mean = 0;
  for (const Sums& sum : sums) {
    double mean = sum.first / count;
    result.mean.push_back(static_cast<float>(mean));
    largest_mean = std::max(largest_mean, std::abs(mean));
    sum_of_variances += variance(sum, count);
  }
  // One deviation for all targets: their errors are added up, and a deviation for each would change
  // how much they count against each other.
  double deviation = std::sqrt(sum_of_variances / static_cast<double>(sums.size()));
  result.deviation = {varies(deviation, largest_mean) ? static_cast<float>(deviation) : 1.0F};
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

void undo(const Normalization& normalization, std::span<double> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = numbers[i] * entry(normalization.deviation, i) + entry(normalization.mean, i);
}

}  // namespace troika::data
