#include "data/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "data/forwarding_dataset.h"
#include "data/sampler.h"
#include "data/uri.h"

namespace troika::data {
namespace {

/// The number in the whole set of each sample of a part. Neighbours stay neighbours if the set has
/// a window, except across the gap of a held-out range.
using Numbering = std::function<std::int64_t(std::int64_t)>;

class PartOfSet final : public ForwardingDataset {
 public:
  PartOfSet(std::unique_ptr<Dataset> whole, std::int64_t size, Numbering number)
      : ForwardingDataset(std::move(whole)), size_(size), number_(std::move(number)) {}
  /// All samples but those of `gap`.
  PartOfSet(std::unique_ptr<Dataset> whole, Range gap)
      : PartOfSet(std::move(whole), 0,
                  [gap](std::int64_t i) { return i < gap.begin ? i : i + gap.extent(); }) {
    size_ = ForwardingDataset::size() - gap.extent();
    cut_ = gap.begin;
  }

  std::int64_t size() const override { return size_; }
  void read(Sample sample, std::span<const std::span<std::byte>> fields) const override {
    TROIKA_CHECK(sample.index >= 0 && sample.index < size_);
    ForwardingDataset::read({number_(sample.index), sample.epoch}, fields);
  }
  void will_read(Range samples) const override {
    // A range across the gap is two ranges of the whole set; the gap itself is not read.
    for (Range side : {Range{samples.begin, std::min(samples.end, cut_)},
                       Range{std::max(samples.begin, cut_), samples.end}})
      if (side.extent() > 0)
        ForwardingDataset::will_read({number_(side.begin), number_(side.end - 1) + 1});
  }
  /// Those of the whole set are not those of a part.
  std::vector<std::int64_t> class_sizes() const override { return {}; }

 private:
  std::int64_t size_;
  Numbering number_;
  std::int64_t cut_ = 0;  // the gap of the whole set is before this sample of the part
};

[[noreturn]] void refuse(std::string_view part, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("data.validation = \"{}\": {}", part, why));
}

std::int64_t samples_in(std::string_view percent, std::int64_t size) {
  auto number = parse_number<double>(percent.substr(0, percent.size() - 1));
  if (!number || !(*number > 0 && *number < 100))
    refuse(percent, "give a percentage above 0 and below 100, such as \"10%\"");
  std::int64_t held_out = std::llround(static_cast<double>(size) * *number / 100);
  if (held_out < 1 || held_out >= size)
    refuse(percent, fmt::format("with {} samples this leaves none for training or none for "
                                "validation; give another percentage",
                                size));
  return held_out;
}

/// The samples [begin, end) are held out.
HeldOut hold_out_range(Range range, TrainingViews views) {
  return {
      .train = std::make_unique<PartOfSet>(std::move(views.augmented), range),
      .held_out = std::make_unique<PartOfSet>(std::move(views.plain), range.extent(),
                                              [range](std::int64_t i) { return range.begin + i; })};
}

HeldOut hold_out_share(std::string_view percent, TrainingViews views) {
  const std::int64_t size = views.augmented->size(), held_out = samples_in(percent, size);
  if (views.augmented->encoding().kind() == SampleKind::sequence)
    return hold_out_range({size - held_out, size}, std::move(views));
  if (views.augmented->window() > 0)
    refuse(percent,
           "a set with window= is read in long pieces, but a percentage takes samples from "
           "everywhere; give a range such as \"[:1000]\"");
  // Key 0 and not the run's seed: runs with other seeds are compared on the same samples. The first
  // `held_out` places of the permutation are validation, the others are training.
  const RandomStream random{.key = 0, .stream = hash_text("validation")};
  auto shuffled = [=](std::int64_t i) { return permute(random, size, i); };
  return {
      .train = std::make_unique<PartOfSet>(std::move(views.augmented), size - held_out,
                                           [=](std::int64_t i) { return shuffled(held_out + i); }),
      .held_out = std::make_unique<PartOfSet>(std::move(views.plain), held_out, shuffled)};
}

/// Uses the range syntax of data set names.
Range range_in(std::string_view part, std::int64_t size) try {
  return select(parse_uri("train:" + std::string(part)), size);
} catch (const Error& error) {
  refuse(part, error.what());
}

}  // namespace

bool is_part(std::string_view text) { return text.ends_with('%') || text.starts_with('['); }

HeldOut hold_out(std::string_view part, TrainingViews views) {
  TROIKA_CHECK_EQ(views.augmented->size(), views.plain->size());
  if (part.ends_with('%')) return hold_out_share(part, std::move(views));
  const std::int64_t size = views.augmented->size();
  Range range = range_in(part, size);
  if (range.extent() == size) refuse(part, "no sample is left to train on");
  return hold_out_range(range, std::move(views));
}

}  // namespace troika::data
