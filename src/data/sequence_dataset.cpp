#include "data/sequence_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/token_mask.h"

namespace troika::data {
namespace {

constexpr std::int64_t kUsualSequence = 128;

void check_length(Range range, std::int64_t length, bool masked) {
  if (length < 1)
    throw Error(ErrorKind::usage,
                fmt::format("the sequence length must be at least 1, not {}", length));
  // The last target is the token after the last input.
  if (range.extent() - (masked ? 0 : 1) < length)
    throw Error(ErrorKind::file,
                fmt::format("{} tokens are too few for one sequence of {}{}; shorten the "
                            "sequence or use more text",
                            range.extent(), length, masked ? "" : " and its target"));
}

Encoding sequence_encoding(const TokenSource& source, std::int64_t length, bool masked) {
  Encoding encoding{.fields = sequence_fields(length, masked),
                    // The mask is one more token, after the symbols of the source.
                    .classes = source.symbols() + (masked ? 1 : 0),
                    .masked = masked};
  if (source.vocabulary() != nullptr) encoding.characters = *source.vocabulary();
  return encoding;
}

}  // namespace

std::vector<Field> sequence_fields(std::int64_t length, bool masked) {
  TensorSpec row{{length}, DType::i32};
  std::vector<Field> fields{{"input", row}, {"target", row}};
  if (masked) fields.push_back({"weight", {{length}, DType::f32}});
  return fields;
}

SequenceDataset::SequenceDataset(std::unique_ptr<TokenSource> source, Range range,
                                 const OpenOptions& options)
    : source_(std::move(source)),
      range_(range),
      length_(options.sequence_length.value_or(kUsualSequence)),
      seed_(options.seed),
      window_(options.window),
      encoding_(sequence_encoding(*source_, length_, options.masked)) {
  check_length(range, length_, options.masked);
  if (!options.like) return;
  check_fit(*options.like, encoding_);
  encoding_ = *options.like;
}

void SequenceDataset::will_read(Range samples) const {
  // Without the one token after the last sample, which is usually on the same page.
  source_->will_read(
      {range_.begin + samples.begin * length_, range_.begin + samples.end * length_});
}

void SequenceDataset::read(Sample sample, std::span<const std::span<std::byte>> fields) const {
  TROIKA_CHECK(sample.index >= 0 && sample.index < size());
  TROIKA_CHECK_EQ(fields.size(), encoding_.fields.size());
  // All fields have T elements of four bytes, i32 or f32.
  for (std::span<std::byte> field : fields)
    TROIKA_CHECK_EQ(static_cast<std::int64_t>(field.size()),
                    encoding_.fields[0].spec.bytes().count);
  std::int64_t first = range_.begin + sample.index * length_;
  std::span<std::int32_t> input = elements_of<std::int32_t>(fields[0]),
                          target = elements_of<std::int32_t>(fields[1]);
  source_->read(first, input);
  if (masked()) {
    std::ranges::copy(input, target.begin());
    TokenMask{seed_, encoding_.classes - 1}.apply(sample, input, elements_of<float>(fields[2]));
    return;
  }
  // All targets but the last are inputs too, so only one more token is read.
  std::copy(input.begin() + 1, input.end(), target.begin());
  source_->read(first + length_, target.last(1));
}

}  // namespace troika::data
