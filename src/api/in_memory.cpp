// Samples that a program has made itself.
#include <fmt/format.h>
#include <troika/data.h>

#include <algorithm>

#include "base/error.h"
#include "data/image_dataset.h"

namespace troika::data {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::usage, "data::in_memory: " + sentence);
}

/// Elements of one input.
std::size_t elements_of(const MemorySamples& samples) {
  if (samples.shape.empty()) refuse("the shape of an input is missing; set 'shape'");
  std::int64_t elements = 1;
  for (std::int64_t extent : samples.shape) {
    if (extent < 1 || __builtin_mul_overflow(elements, extent, &elements))
      refuse(fmt::format("an input cannot have the shape [{}]", fmt::join(samples.shape, ",")));
  }
  return static_cast<std::size_t>(elements);
}

std::size_t count_of(const MemorySamples& samples) {
  std::size_t elements = elements_of(samples), count = samples.inputs.size() / elements;
  if (count == 0 || samples.inputs.size() % elements != 0)
    refuse(
        fmt::format("'inputs' has {} numbers, which do not fill one or more inputs of shape [{}]; "
                    "correct either",
                    samples.inputs.size(), fmt::join(samples.shape, ",")));
  return count;
}

void check_targets(const MemorySamples& samples, std::size_t count) {
  if (samples.targets.size() != count)
    refuse(fmt::format("there are {} targets for {} inputs; give one target per input",
                       samples.targets.size(), count));
  auto [least, largest] = std::ranges::minmax(samples.targets);
  std::int64_t classes = samples.classes != 0 ? samples.classes : std::int64_t{largest} + 1;
  if (least < 0 || largest >= classes)
    refuse(fmt::format("targets must lie in [0, {}), but they range from {} to {}", classes, least,
                       largest));
}

void require_alike(const MemorySamples& samples) {
  const TensorSpec& input = samples.like->dataset()->fields().front().spec;
  if (input.dtype != DType::f32 || !std::ranges::equal(input.shape, samples.shape))
    refuse(fmt::format("inputs of [{}] are not like those trained on, {}",
                       fmt::join(samples.shape, ","), to_string(input)));
}

void check(const MemorySamples& samples) {
  std::size_t count = count_of(samples);
  bool has_classes = !samples.targets.empty(), has_numbers = !samples.numbers.empty();
  if (has_classes == has_numbers && (has_classes || !samples.like))
    refuse("set either 'targets' or 'numbers'; samples with neither need 'like'");
  if (has_classes) check_targets(samples, count);
  if (samples.numbers.size() % count != 0)
    refuse(
        fmt::format("'numbers' has {} elements, which is not a multiple of the {} inputs; give "
                    "each input equally many",
                    samples.numbers.size(), count));
  if (samples.like) require_alike(samples);
}

class MemoryImages final : public ImageSource {
 public:
  explicit MemoryImages(MemorySamples samples)
      : samples_(std::move(samples)), elements_(elements_of(samples_)), count_(count_of(samples_)) {
    for (std::int64_t extent : samples_.shape) shape_.push_back(extent);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(count_); }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override {
    if (samples_.targets.empty()) return 0;
    if (samples_.classes > 0) return samples_.classes;
    return 1 + std::int64_t{*std::ranges::max_element(samples_.targets)};
  }
  std::int64_t numbers() const override {
    return static_cast<std::int64_t>(samples_.numbers.size() / count_);
  }
  bool has_targets() const override {
    return !samples_.targets.empty() || !samples_.numbers.empty();
  }

  void read_pixels(std::int64_t index, std::span<float> pixels) const override {
    std::ranges::copy(part(samples_.inputs, index, elements_), pixels.begin());
  }
  std::int32_t label(std::int64_t index) const override {
    return samples_.targets[static_cast<std::size_t>(index)];
  }
  void read_numbers(std::int64_t index, std::span<float> numbers) const override {
    std::ranges::copy(part(samples_.numbers, index, numbers.size()), numbers.begin());
  }

 private:
  static std::span<const float> part(std::span<const float> all, std::int64_t index,
                                     std::size_t each) {
    return all.subspan(static_cast<std::size_t>(index) * each, each);
  }

  MemorySamples samples_;
  std::size_t elements_;
  std::size_t count_;
  Shape shape_;
};

}  // namespace

Source in_memory(MemorySamples samples) {
  check(samples);
  // Inputs stay as the program made them, unless they are like others that were normalised.
  OpenOptions options{.normalization = Normalization::identity(),
                      .normalize_targets = samples.normalize_targets};
  if (samples.like) {
    options.like = samples.like->dataset()->encoding();
    if (options.like->normalization) options.normalization = options.like->normalization;
    samples.like.reset();  // The new source must not keep the training set alive.
  }
  auto images = std::make_unique<MemoryImages>(std::move(samples));
  Range all{0, images->size()};
  return Source(std::make_shared<ImageDataset>(std::move(images), all, options));
}

}  // namespace troika::data
