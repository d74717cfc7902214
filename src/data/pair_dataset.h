// Pairs of texts, such as sentences and their translations, as samples of an encoder and a decoder.
#pragma once

#include "data/column_file.h"
#include "data/dataset.h"
#include "data/uri.h"
#include "tensor/region.h"

namespace troika::data {

/// The fields of a sample whose texts have at most `source` and `target` tokens.
std::vector<Field> pair_fields(std::int64_t source, std::int64_t target);

/// A line is source<tab>target. Fields: "source" i32 [S], its words and the end mark, then padding;
/// "length" i32 [], the number of them without padding; "mask" f32 [S], 0 at padding; "target" i32
/// [T], its words and the end mark, then padding; "input" i32 [T], the begin mark and then the
/// target, one position later (teacher forcing); "weight" f32 [T], 0 at padding. A text
/// longer than S or T is cut there.
class PairDataset final : public Dataset {
 public:
  /// pairs:FILE?split=characters&vocabulary=N[begin:end]. Vocabularies and lengths are those of the
  /// whole file, whatever range is used, unless options.like has them.
  PairDataset(FileBytes file, const Uri& uri, const OpenOptions& options);

  std::int64_t size() const override { return range_.extent(); }
  const Encoding& encoding() const override { return encoding_; }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override;

 private:
  void learn(const Uri& uri, const OpenOptions& options);

  ColumnFile file_;
  Range range_;
  Encoding encoding_;
};

}  // namespace troika::data
