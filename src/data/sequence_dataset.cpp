#include "data/sequence_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troika::data {
namespace {

void check_options(Range range, const OpenOptions& options) {
  if (options.sequence_length < 1)
    throw Error(ErrorKind::usage,
                fmt::format("A sequence length of {} is not possible; give 1 or more.",
                            options.sequence_length));
  if (range.extent() - 1 < options.sequence_length)
    throw Error(
        ErrorKind::file,
        fmt::format("{} tokens are too few for one sequence of {} and its target; shorten the "
                    "sequence or use more text.",
                    range.extent(), options.sequence_length));
  if (!options.augment.empty())
    throw Error(ErrorKind::usage,
                fmt::format("Augmentation '{}' is for images; remove it.", options.augment[0]));
  if (options.normalization)
    throw Error(ErrorKind::usage, "Normalisation is for images; remove it.");
}

std::span<std::int32_t> as_tokens(std::span<std::byte> bytes) {
  return {reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / sizeof(std::int32_t)};
}

}  // namespace

SequenceDataset::SequenceDataset(std::unique_ptr<TokenSource> source, Range range,
                                 const OpenOptions& options)
    : source_(std::move(source)), range_(range), length_(options.sequence_length) {
  check_options(range, options);
  TensorSpec row{{length_}, DType::i32};
  fields_ = {Field{"input", row}, Field{"target", row}};
}

void SequenceDataset::read(Sample sample, std::span<const std::span<std::byte>> fields) const {
  TROIKA_CHECK(sample.index >= 0 && sample.index < size());
  TROIKA_CHECK_EQ(fields.size(), fields_.size());
  for (std::span<std::byte> field : fields)
    TROIKA_CHECK_EQ(static_cast<std::int64_t>(field.size()), fields_[0].spec.bytes().count);
  std::int64_t first = range_.begin + sample.index * length_;
  std::span<std::int32_t> input = as_tokens(fields[0]);
  std::span<std::int32_t> target = as_tokens(fields[1]);
  source_->read(first, input);
  std::copy(input.begin() + 1, input.end(), target.begin());
  source_->read(first + length_, target.last(1));
}

}  // namespace troika::data
