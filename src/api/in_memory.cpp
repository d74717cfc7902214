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
  std::int64_t elements = 1;
  for (std::int64_t extent : samples.shape) {
    if (extent < 1 || __builtin_mul_overflow(elements, extent, &elements))
      refuse(fmt::format("an input cannot have the shape [{}]", fmt::join(samples.shape, ",")));
  }
  return static_cast<std::size_t>(elements);
}

void check(const MemorySamples& samples) {
  if (samples.shape.empty() || samples.targets.empty())
    refuse("the shape of an input and at least one sample are needed");
  std::size_t elements = elements_of(samples), count = samples.targets.size();
  if (samples.inputs.size() % elements != 0 || samples.inputs.size() / elements != count)
    refuse(fmt::format("{} targets need {} inputs of [{}], but there are {} numbers", count, count,
                       fmt::join(samples.shape, ","), samples.inputs.size()));
  auto [least, largest] = std::ranges::minmax(samples.targets);
  if (least < 0 || (samples.classes > 0 && largest >= samples.classes) || samples.classes < 0)
    refuse(fmt::format("targets must lie in [0, {}), but they go from {} to {}", samples.classes,
                       least, largest));
}

class MemoryDataset final : public Dataset {
 public:
  explicit MemoryDataset(MemorySamples samples) : samples_(std::move(samples)) {
    Shape shape;
    for (std::int64_t extent : samples_.shape) shape.push_back(extent);
    elements_ = elements_of(samples_);
    encoding_.fields = {{"input", {shape, DType::f32}}, {"target", {{}, DType::i32}}};
    encoding_.classes = samples_.classes > 0
                            ? samples_.classes
                            : 1 + std::int64_t{*std::ranges::max_element(samples_.targets)};
  }

  std::int64_t size() const override { return std::ssize(samples_.targets); }
  const Encoding& encoding() const override { return encoding_; }

  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    auto index = static_cast<std::size_t>(sample.index);
    std::memcpy(fields[0].data(), samples_.inputs.data() + index * elements_, fields[0].size());
    std::memcpy(fields[1].data(), samples_.targets.data() + index, fields[1].size());
  }

 private:
  MemorySamples samples_;
  Encoding encoding_;
  std::size_t elements_ = 0;
};

}  // namespace

Source in_memory(MemorySamples samples) {
  check(samples);
  return Source(std::make_shared<MemoryDataset>(std::move(samples)));
}

}  // namespace troika::data
