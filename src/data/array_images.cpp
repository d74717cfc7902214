#include "data/array_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace troika::data {
namespace {

/// Calls visit(value) for each number; by memcpy, because nothing aligns numbers in a file.
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

Shape image_shape(const ArrayFile& images) {
  const Shape& all = images.shape;
  if (all.rank() == 2) return {all[1]};
  if (all.rank() == 3) return {1, all[1], all[2]};
  if (all.rank() == 4) return {all[1], all[2], all[3]};
  throw file_error(
      images.file.path(), 0,
      fmt::format("images need the shape [N,H,W], [N,C,H,W] or [N,F], not {}; reshape the array",
                  to_string(all)));
}

class ArrayImages final : public ImageSource {
 public:
  ArrayImages(ArrayFile images, ArrayFile labels)
      : images_(std::move(images)), labels_(std::move(labels)), shape_(image_shape(images_)) {
    check_labels();
    classes_ = count_classes();
  }

  std::int64_t size() const override { return images_.shape[0]; }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return classes_; }

  void read_pixels(std::int64_t index, std::span<float> pixels) const override {
    std::span<const std::byte> entry = images_.entry(index);
    if (images_.element == Element::u8) {
      std::ranges::transform(entry, pixels.begin(), [](std::byte b) {
        return scale_byte(std::to_integer<std::uint8_t>(b));
      });
      return;
    }
    float* next = pixels.data();
    for_each_number(images_.element, entry,
                    [&](auto value) { *next++ = static_cast<float>(value); });
    if (!std::ranges::all_of(pixels, [](float pixel) { return std::isfinite(pixel); }))
      throw file_error(
          images_.file.path(), images_.entry_offset(index),
          fmt::format("image {} has a number that is not finite as f32; clean the array", index));
  }

  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(wide_label(index));
  }

 private:
  std::int64_t wide_label(std::int64_t index) const {
    std::int64_t label = -1;
    for_each_number(labels_.element, labels_.entry(index),
                    [&](auto value) { label = static_cast<std::int64_t>(value); });
    return label;
  }

  void check_labels() const {
    bool whole = labels_.element != Element::f32 && labels_.element != Element::f64;
    const Shape& shape = labels_.shape;
    bool column = shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1);
    if (!whole || !column)
      throw file_error(
          labels_.file.path(), 0,
          fmt::format("labels must be whole numbers of shape [N], not {}{}; write class numbers",
                      whole ? "" : "floating-point of shape ", to_string(shape)));
    if (shape[0] != size())
      throw file_error(
          labels_.file.path(), 0,
          fmt::format(
              "there are {} labels but {} images in {}; give two files that belong together",
              shape[0], size(), images_.file.path()));
  }

  std::int64_t count_classes() const {
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < size(); ++i) {
      std::int64_t label = wide_label(i);
      if (label < 0 || label >= kMaxClasses)
        throw file_error(
            labels_.file.path(), labels_.entry_offset(i),
            fmt::format("label {} of sample {} is no class number from 0 to {}; correct the file",
                        label, i, kMaxClasses - 1));
      largest = std::max(largest, label);
    }
    return largest + 1;
  }

  ArrayFile images_;
  ArrayFile labels_;
  Shape shape_;
  std::int64_t classes_ = 0;
};

}  // namespace

std::unique_ptr<ImageSource> pair_arrays(ArrayFile images, ArrayFile labels) {
  return std::make_unique<ArrayImages>(std::move(images), std::move(labels));
}

}  // namespace troika::data
