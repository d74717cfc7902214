#include "data/pair_dataset.h"

#include <algorithm>
#include <utility>

#include "data/text_options.h"

namespace troika::data {
namespace {

/// The order of the fields.
enum PairField : std::size_t { kInput, kTarget, kWeight, kSource, kLength, kMask, kPairFields };

/// Words and the end mark, cut or padded to the length of `to`; returns the number without padding.
std::size_t write_sentence(std::vector<std::int32_t> words, std::span<std::int32_t> to) {
  words.push_back(WordVocabulary::kEnd);
  std::size_t length = std::min(words.size(), to.size());
  std::ranges::fill(to, WordVocabulary::kPadding);
  std::copy_n(words.begin(), length, to.begin());
  return length;
}

void mark_first(std::size_t count, std::span<float> marks) {
  std::ranges::fill(marks, 0.0F);
  std::ranges::fill(marks.first(count), 1.0F);
}

}  // namespace

std::vector<Field> pair_fields(std::int64_t source, std::int64_t target) {
  std::vector<Field> fields(kPairFields);
  fields[kInput] = {"input", {{target}, DType::i32}};
  fields[kTarget] = {"target", {{target}, DType::i32}};
  fields[kWeight] = {"weight", {{target}, DType::f32}};
  fields[kSource] = {"source", {{source}, DType::i32}};
  fields[kLength] = {"length", {{}, DType::i32}};
  fields[kMask] = {"mask", {{source}, DType::f32}};
  return fields;
}

PairDataset::PairDataset(FileBytes file, const Uri& uri, const OpenOptions& options)
    : file_(std::move(file), "source<tab>target"), range_(select(uri, file_.size())) {
  if (options.like)
    encoding_ = *options.like;
  else
    learn(uri, options);
}

void PairDataset::learn(const Uri& uri, const OpenOptions& options) {
  TextOptions text = text_options(uri);
  WordCount sources(text.unit), targets(text.unit);
  std::int64_t longest_source = 0, longest_target = 0;
  // The whole file and not the range: parts of one file must get the same vocabularies.
  for (std::int64_t index = 0; index < file_.size(); ++index) {
    ColumnFile::Row row = file_.row(index);
    longest_source = std::max(longest_source, sources.add(row.first));
    longest_target = std::max(longest_target, targets.add(row.second));
  }
  // One more for the end mark.
  encoding_.fields = pair_fields(options.sequence_length.value_or(longest_source + 1),
                                 options.sequence_length.value_or(longest_target + 1));
  encoding_.words = sources.most_frequent(text.vocabulary);
  encoding_.target_words = targets.most_frequent(text.vocabulary);
  encoding_.classes = encoding_.target_words->size();
}

void PairDataset::read(Sample sample, std::span<const std::span<std::byte>> fields) const {
  TROIKA_CHECK(sample.index >= 0 && sample.index < size());
  TROIKA_CHECK_EQ(fields.size(), std::size_t{kPairFields});
  ColumnFile::Row row = file_.row(range_.begin + sample.index);
  std::size_t length = write_sentence(encoding_.words->encode(row.first),
                                      elements_of<std::int32_t>(fields[kSource]));
  elements_of<std::int32_t>(fields[kLength])[0] = static_cast<std::int32_t>(length);
  mark_first(length, elements_of<float>(fields[kMask]));
  std::span<std::int32_t> target = elements_of<std::int32_t>(fields[kTarget]),
                          input = elements_of<std::int32_t>(fields[kInput]);
  std::size_t words = write_sentence(encoding_.target_words->encode(row.second), target);
  mark_first(words, elements_of<float>(fields[kWeight]));
  // Teacher forcing: position t of the input is target t - 1. The last word of the target, usually
  // the end mark, is never an input.
  std::ranges::fill(input, WordVocabulary::kPadding);
  input[0] = WordVocabulary::kBegin;
  std::copy_n(target.begin(), words - 1, input.begin() + 1);
}

}  // namespace troika::data
