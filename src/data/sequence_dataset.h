// Tokens of a source cut into training samples: T tokens in, the same tokens one later as targets.
#pragma once

#include <array>
#include <memory>

#include "data/dataset.h"
#include "data/token_source.h"
#include "tensor/region.h"

namespace troika::data {

/// Sample i reads the tokens [i*T, i*T + T] of the range, so samples share one token and nothing
/// else; what does not fill a sample at the end is left out.
class SequenceDataset final : public Dataset {
 public:
  /// Throws Error(usage) when the options do not fit, Error(file) when the range is too short for
  /// one sample.
  SequenceDataset(std::unique_ptr<TokenSource> source, Range range, const OpenOptions& options);

  std::int64_t size() const override { return (range_.extent() - 1) / length_; }
  std::span<const Field> fields() const override { return fields_; }
  std::int64_t classes() const override { return source_->symbols(); }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override;
  const Vocabulary* vocabulary() const override { return source_->vocabulary(); }

 private:
  std::unique_ptr<TokenSource> source_;
  Range range_;
  std::int64_t length_;
  std::array<Field, 2> fields_;
};

}  // namespace troika::data
