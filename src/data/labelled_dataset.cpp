#include "data/labelled_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "data/text_options.h"

namespace troika::data {
namespace {

/// The order of the fields.
enum LabelledField : std::size_t { kTokens, kLabel, kTokenCount, kTokenMask, kLabelledFields };

}  // namespace

std::vector<Field> labelled_fields(std::int64_t length) {
  std::vector<Field> fields(kLabelledFields);
  fields[kTokens] = {"input", {{length}, DType::i32}};
  fields[kLabel] = {"target", {{}, DType::i32}};
  fields[kTokenCount] = {"length", {{}, DType::i32}};
  fields[kTokenMask] = {"mask", {{length}, DType::f32}};
  return fields;
}

LabelledDataset::LabelledDataset(FileBytes file, const Uri& uri, const OpenOptions& options)
    : file_(std::move(file), "label<tab>text"), range_(select(uri, file_.size())) {
  if (!options.like) {
    learn(uri, options);
    return;
  }
  encoding_ = *options.like;
  // An unknown label is reported now and not in the middle of a run.
  for (std::int64_t line = range_.begin; line < range_.end; ++line) class_of(line);
}

void LabelledDataset::learn(const Uri& uri, const OpenOptions& options) {
  TextOptions text = text_options(uri);
  WordCount words(text.unit);
  std::set<std::string, std::less<>> labels;
  std::int64_t longest = 0;
  // The whole file and not the range: parts of one file must get the same classes and vocabulary.
  for (std::int64_t index = 0; index < file_.size(); ++index) {
    ColumnFile::Row row = file_.row(index);
    labels.emplace(row.first);
    longest = std::max(longest, words.add(row.second));
  }
  // One more for the begin mark.
  encoding_.fields = labelled_fields(options.sequence_length.value_or(longest + 1));
  encoding_.words = words.most_frequent(text.vocabulary);
  encoding_.labels.assign(labels.begin(), labels.end());
  encoding_.classes = std::ssize(encoding_.labels);
}

std::int32_t LabelledDataset::class_of(std::int64_t line) const {
  const std::vector<std::string>& labels = encoding_.labels;
  std::string_view label = file_.row(line).first;
  // learn() takes the labels from a set, so they are sorted.
  auto found = std::ranges::lower_bound(labels, label);
  if (found == labels.end() || *found != label)
    throw file_.error_at(line, fmt::format("the label '{}' is not known; the model knows {}", label,
                                           fmt::join(labels, ", ")));
  return static_cast<std::int32_t>(found - labels.begin());
}

void LabelledDataset::read(Sample sample, std::span<const std::span<std::byte>> fields) const {
  TROIKA_CHECK(sample.index >= 0 && sample.index < size());
  TROIKA_CHECK_EQ(fields.size(), std::size_t{kLabelledFields});
  std::int64_t line = range_.begin + sample.index;
  std::vector<std::int32_t> tokens = encoding_.words->encode(file_.row(line).second);
  tokens.insert(tokens.begin(), WordVocabulary::kBegin);
  std::span<std::int32_t> input = elements_of<std::int32_t>(fields[kTokens]);
  std::span<float> mask = elements_of<float>(fields[kTokenMask]);
  std::size_t length = std::min(tokens.size(), input.size());
  std::ranges::fill(input, WordVocabulary::kPadding);
  std::copy_n(tokens.begin(), length, input.begin());
  std::ranges::fill(mask, 0.0F);
  std::ranges::fill(mask.first(length), 1.0F);
  elements_of<std::int32_t>(fields[kTokenCount])[0] = static_cast<std::int32_t>(length);
  elements_of<std::int32_t>(fields[kLabel])[0] = class_of(line);
}

}  // namespace troika::data
