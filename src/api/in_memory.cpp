// Samples that a program has made itself.
#include <fmt/format.h>
#include <troika/data.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/dataset.h"

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

void check(const MemorySamples& samples) {
  std::size_t count = count_of(samples);
  int kinds = (samples.targets.empty() ? 0 : 1) + (samples.numbers.empty() ? 0 : 1) +
              (samples.like ? 1 : 0);
  if (kinds != 1) refuse("set exactly one of 'targets', 'numbers' and 'like'");
  if (!samples.targets.empty()) check_targets(samples, count);
  if (samples.numbers.size() % count != 0)
    refuse(
        fmt::format("'numbers' has {} elements, which is not a multiple of the {} inputs; give "
                    "each input equally many",
                    samples.numbers.size(), count));
}

class MemoryDataset final : public Dataset {
 public:
  explicit MemoryDataset(MemorySamples samples)
      : samples_(std::move(samples)), elements_(elements_of(samples_)), count_(count_of(samples_)) {
    if (samples_.like) {
      encoding_ = samples_.like->dataset()->encoding();
      return;
    }
    Shape shape;
    for (std::int64_t extent : samples_.shape) shape.push_back(extent);
    encoding_.fields = {{"input", {shape, DType::f32}}, {"target", target_spec()}};
    if (samples_.numbers.empty())
      encoding_.classes = samples_.classes > 0
                              ? samples_.classes
                              : 1 + std::int64_t{*std::ranges::max_element(samples_.targets)};
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(count_); }
  const Encoding& encoding() const override { return encoding_; }
  bool has_targets() const override { return !samples_.like; }

  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    auto index = static_cast<std::size_t>(sample.index);
    std::memcpy(fields[0].data(), samples_.inputs.data() + index * elements_, fields[0].size());
    if (!has_targets()) {
      for (std::span<std::byte> field : fields.subspan(1)) std::ranges::fill(field, std::byte{});
    } else if (samples_.numbers.empty()) {
      std::memcpy(fields[1].data(), samples_.targets.data() + index, fields[1].size());
    } else {
      std::size_t each = samples_.numbers.size() / count_;
      std::memcpy(fields[1].data(), samples_.numbers.data() + index * each, fields[1].size());
    }
  }

 private:
  TensorSpec target_spec() const {
    if (samples_.numbers.empty()) return {{}, DType::i32};
    return {{static_cast<std::int64_t>(samples_.numbers.size() / count_)}, DType::f32};
  }

  MemorySamples samples_;
  std::size_t elements_;
  std::size_t count_;
  Encoding encoding_;
};

void require_alike(const MemorySamples& samples) {
  const TensorSpec& input = samples.like->dataset()->fields().front().spec;
  if (input.dtype != DType::f32 || !std::ranges::equal(input.shape, samples.shape))
    refuse(fmt::format("inputs of [{}] are not like those trained on, {}",
                       fmt::join(samples.shape, ","), to_string(input)));
}

}  // namespace

Source in_memory(MemorySamples samples) {
  check(samples);
  if (samples.like) require_alike(samples);
  return Source(std::make_shared<MemoryDataset>(std::move(samples)));
}

}  // namespace troika::data
