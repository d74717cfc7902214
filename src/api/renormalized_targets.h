// Samples whose numbers to predict are normalised differently from those of their source.
#pragma once

#include <algorithm>

#include "data/forwarding_dataset.h"

namespace troika::internal {

class RenormalizedTargets final : public data::ForwardingDataset {
 public:
  /// `target` absent: the numbers are those of the user, up to the rounding of f32. Precondition:
  /// the samples have numbers to predict.
  RenormalizedTargets(const std::shared_ptr<const data::Dataset>& samples,
                      std::optional<data::Normalization> target)
      : ForwardingDataset(samples), from_(samples->encoding()), encoding_(from_) {
    encoding_.target_normalization = std::move(target);
  }

  const data::Encoding& encoding() const override { return encoding_; }
  void read(data::Sample sample, std::span<const std::span<std::byte>> fields) const override {
    ForwardingDataset::read(sample, fields);
    if (!has_targets()) return;
    auto field = static_cast<std::size_t>(from_.find("target") - from_.fields.data());
    std::span<float> numbers = data::elements_of<float>(fields[field]);
    if (from_.target_normalization) {
      std::vector<double> users(numbers.begin(), numbers.end());
      data::undo(*from_.target_normalization, users);
      std::ranges::transform(users, numbers.begin(),
                             [](double x) { return static_cast<float>(x); });
    }
    if (encoding_.target_normalization)
      data::apply(*encoding_.target_normalization, numbers.size(), numbers);
  }

 private:
  data::Encoding from_;
  data::Encoding encoding_;
};

}  // namespace troika::internal
