// Labelled texts as samples of a classifier.
#pragma once

#include "data/column_file.h"
#include "data/dataset.h"
#include "data/uri.h"
#include "tensor/region.h"

namespace troika::data {

/// The fields of a sample of at most `length` tokens.
std::vector<Field> labelled_fields(std::int64_t length);

/// A line is label<tab>text. Fields: "input" i32 [T], the begin mark and the words, then padding;
/// "target" i32 [], the label's place among all labels in the order of their bytes; "length" i32
/// [], the number of tokens without padding; "mask" f32 [T], 0 at padding. A longer text is cut.
class LabelledDataset final : public Dataset {
 public:
  /// labelled:FILE?split=characters&vocabulary=N[begin:end]. Labels, vocabulary and length are
  /// those of the whole file, whatever range is used, unless options.like has them. Throws
  /// Error(file) naming the line whose label is not one of those.
  LabelledDataset(FileBytes file, const Uri& uri, const OpenOptions& options);

  std::int64_t size() const override { return range_.extent(); }
  const Encoding& encoding() const override { return encoding_; }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override;

 private:
  void learn(const Uri& uri, const OpenOptions& options);
  std::int32_t class_of(std::int64_t line) const;

  ColumnFile file_;
  Range range_;
  Encoding encoding_;
};

}  // namespace troika::data
