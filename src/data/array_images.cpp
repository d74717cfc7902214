#include "data/array_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace troika::data {
namespace {

/// Calls visit(value) for each number. Uses memcpy because numbers in a file may be unaligned.
template <class T, class Visit>
void for_each(std::span<const std::byte> bytes, Visit&& visit) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    visit(value);
  }
}

template <class Visit>
void for_each_number(Element element, std::span<const std::byte> bytes, Visit&& visit) {
  switch (element) {
    case Element::u8:
      return for_each<std::uint8_t>(bytes, visit);
    case Element::i32:
      return for_each<std::int32_t>(bytes, visit);
    case Element::i64:
      return for_each<std::int64_t>(bytes, visit);
    case Element::f32:
      return for_each<float>(bytes, visit);
    case Element::f64:
      return for_each<double>(bytes, visit);
  }
}

bool is_floating(Element element) { return element == Element::f32 || element == Element::f64; }

/// Shapes such as [N,32,32,3], which most image libraries write.
bool seems_channels_last(const Shape& all) {
  constexpr std::int64_t kMostColours = 4;
  return all[3] <= kMostColours && all[1] > kMostColours;
}

Shape shape_of_images(const ArrayFile& images, Channels channels) {
  const Shape& all = images.shape;
  if (channels != Channels::unstated && all.rank() != 4)
    throw file_error(
        images.file.path(), 0,
        fmt::format("channels= is for images of rank 4, not {}; remove it", to_string(all)));
  if (all.rank() == 2) return {all[1]};
  if (all.rank() == 3) return {1, all[1], all[2]};
  if (all.rank() == 4 && channels == Channels::unstated && seems_channels_last(all))
    throw file_error(images.file.path(), 0,
                     fmt::format("the shape {} looks like [N,H,W,C]; add ?channels=last to the "
                                 "data set's name, or ?channels=first if there are {} channels",
                                 to_string(all), all[1]));
  if (all.rank() == 4 && channels == Channels::last) return {all[3], all[1], all[2]};
  if (all.rank() == 4) return {all[1], all[2], all[3]};
  throw file_error(
      images.file.path(), 0,
      fmt::format(
          "images need the shape [N,H,W], [N,C,H,W], [N,H,W,C] or [N,F], not {}; reshape the "
          "array",
          to_string(all)));
}

class ArrayImages final : public ImageSource {
 public:
  ArrayImages(ArrayFile images, std::optional<ArrayFile> labels, Channels channels)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        shape_(shape_of_images(images_, channels)) {
    if (channels == Channels::last) interleaved_ = static_cast<std::size_t>(shape_[0]);
    if (!labels_) return;
    if (is_floating(labels_->element)) {
      check_numbers();
    } else {
      check_labels();
      classes_ = count_classes();
    }
  }

  std::int64_t size() const override { return images_.shape[0]; }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return classes_; }
  std::int64_t numbers() const override { return numbers_; }
  bool has_targets() const override { return labels_.has_value(); }

  /// Feature vectors of bytes are taken for flattened images, whose pixels share one scale.
  std::size_t channels() const override {
    if (shape_.rank() == 1 && images_.element == Element::u8) return 1;
    return ImageSource::channels();
  }

  void read_pixels(std::int64_t index, std::span<float> pixels) const override {
    std::span<const std::byte> entry = images_.entry(index);
    std::size_t plane = pixels.size() / interleaved_;
    // Element i of [H,W,C] goes to its position in [C,H,W]; without interleaving the order stays.
    auto place = [&](std::size_t i) { return i % interleaved_ * plane + i / interleaved_; };
    if (images_.element == Element::u8) {
      for (std::size_t i = 0; i < entry.size(); ++i)
        pixels[place(i)] = scale_byte(std::to_integer<std::uint8_t>(entry[i]));
      return;
    }
    std::size_t next = 0;
    for_each_number(images_.element, entry,
                    [&](auto value) { pixels[place(next++)] = static_cast<float>(value); });
    // Checked at each read and not at the start: images may be larger than memory.
    if (!std::ranges::all_of(pixels, [](float pixel) { return std::isfinite(pixel); }))
      throw file_error(
          images_.file.path(), images_.entry_offset(index),
          fmt::format("image {} has a number that is not finite as f32; clean the array", index));
  }

  void will_read(Range samples) const override {
    images_.will_read(samples);
    if (labels_) labels_->will_read(samples);
  }

  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(wide_label(index));
  }

  void read_numbers(std::int64_t index, std::span<float> numbers) const override {
    std::size_t next = 0;
    for_each_number(labels_->element, labels_->entry(index),
                    [&](auto value) { numbers[next++] = static_cast<float>(value); });
  }

 private:
  std::int64_t wide_label(std::int64_t index) const {
    std::int64_t label = -1;
    for_each_number(labels_->element, labels_->entry(index),
                    [&](auto value) { label = static_cast<std::int64_t>(value); });
    return label;
  }

  void check_labels() const {
    const Shape& shape = labels_->shape;
    if (shape.rank() > 2 || (shape.rank() == 2 && shape[1] != 1))
      throw file_error(labels_->file.path(), 0,
                       fmt::format("whole numbers are classes and need the shape [N], not {}; "
                                   "write class numbers, or floats to predict numbers",
                                   to_string(shape)));
    check_count();
  }

  void check_numbers() {
    const Shape& shape = labels_->shape;
    if (shape.rank() > 2)
      throw file_error(labels_->file.path(), 0,
                       fmt::format("numbers to predict need the shape [N] or [N,K], not {}; "
                                   "reshape the array",
                                   to_string(shape)));
    check_count();
    numbers_ = shape.rank() == 2 ? shape[1] : 1;
    std::vector<float> numbers(static_cast<std::size_t>(numbers_));
    // Targets are small, so they are all checked before the run starts.
    for (std::int64_t index = 0; index < size(); ++index) {
      read_numbers(index, numbers);
      if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); }))
        throw file_error(
            labels_->file.path(), labels_->entry_offset(index),
            fmt::format("the target of sample {} is not finite as f32; clean the array", index));
    }
  }

  void check_count() const {
    if (labels_->shape[0] == size()) return;
    throw file_error(
        labels_->file.path(), 0,
        fmt::format("there are {} labels but {} images in {}; give two files that belong together",
                    labels_->shape[0], size(), images_.file.path()));
  }

  std::int64_t count_classes() const {
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < size(); ++i) {
      std::int64_t label = wide_label(i);
      if (label < 0 || label >= kMaxClasses)
        throw file_error(
            labels_->file.path(), labels_->entry_offset(i),
            fmt::format(
                "label {} of sample {} is not a class number from 0 to {}; correct the file", label,
                i, kMaxClasses - 1));
      largest = std::max(largest, label);
    }
    return largest + 1;
  }

  ArrayFile images_;
  std::optional<ArrayFile> labels_;
  Shape shape_;
  std::size_t interleaved_ = 1;  // Channels that are adjacent in the file.
  std::int64_t classes_ = 0;
  std::int64_t numbers_ = 0;
};

}  // namespace

std::unique_ptr<ImageSource> pair_arrays(ArrayFile images, std::optional<ArrayFile> labels,
                                         Channels channels) {
  return std::make_unique<ArrayImages>(std::move(images), std::move(labels), channels);
}

}  // namespace troika::data
