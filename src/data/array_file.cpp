#include "data/array_file.h"

#include <fmt/format.h>

namespace troika::data {

std::size_t size_of(Element element) {
  switch (element) {
    case Element::u8:
      return 1;
    case Element::i32:
      return 4;
    case Element::i64:
      return 8;
    case Element::f32:
      return 4;
    case Element::f64:
      return 8;
  }
  return 0;
}

std::size_t ArrayFile::entry_offset(std::int64_t index) const {
  auto elements = static_cast<std::size_t>(shape.product(1, shape.rank()));
  return offset + static_cast<std::size_t>(index) * elements * size_of(element);
}

std::span<const std::byte> ArrayFile::entry(std::int64_t index) const {
  std::size_t begin = entry_offset(index);
  return file.bytes().subspan(begin, entry_offset(index + 1) - begin);
}

void ArrayFile::will_read(Range entries) const {
  std::size_t begin = entry_offset(entries.begin);
  file.will_read(begin, entry_offset(entries.end) - begin);
}

void check_size(const ArrayFile& array) {
  std::size_t there = array.file.size() - array.offset;
  std::size_t promised = size_of(array.element);
  bool fits = true;
  // Divides instead of multiplying: a false header must not overflow the product.
  for (std::int64_t extent : array.shape) {
    auto count = static_cast<std::size_t>(extent);
    fits = fits && extent > 0 && promised <= there / count;
    if (fits) promised *= count;
  }
  if (fits && promised == there) return;
  throw file_error(
      array.file.path(), array.offset,
      fmt::format(
          "the header states an array of shape {} with {} bytes per number, but {} bytes follow; "
          "the file is cut short or damaged, fetch or write it again",
          to_string(array.shape), size_of(array.element), there));
}

}  // namespace troika::data
