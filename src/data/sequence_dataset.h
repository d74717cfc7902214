// Tokens of a source cut into training samples: T tokens in, the same tokens one later as targets;
// or, masked, T tokens of which some are hidden, and those as targets.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/token_source.h"
#include "tensor/region.h"

namespace troika::data {

/// The fields of a sample of `length` tokens.
std::vector<Field> sequence_fields(std::int64_t length, bool masked);

/// Sample i reads the tokens [i*T, i*T + T] of the range, so samples share one token and nothing
/// else; what does not fill a sample at the end is left out. Masked, it reads [i*T, i*T + T), has
/// the field "weight" too, and its vocabulary ends with the mask.
class SequenceDataset final : public Dataset {
 public:
  /// Throws Error(usage) when the options do not fit, Error(file) when the range is too short for
  /// one sample.
  SequenceDataset(std::unique_ptr<TokenSource> source, Range range, const OpenOptions& options);

  std::int64_t size() const override { return (range_.extent() - (masked() ? 0 : 1)) / length_; }
  const Encoding& encoding() const override { return encoding_; }
  std::int64_t window() const override { return window_; }
  void will_read(Range samples) const override;
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override;

 private:
  bool masked() const { return encoding_.masked; }

  std::unique_ptr<TokenSource> source_;
  Range range_;
  std::int64_t length_;
  std::uint64_t seed_;
  std::int64_t window_;
  Encoding encoding_;
};

}  // namespace troika::data
