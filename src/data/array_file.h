// An array of numbers in a file, in row-major order after a header: the content of IDX and npy
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/file_bytes.h"
#include "tensor/region.h"
#include "tensor/shape.h"

namespace troika::data {

enum class Element { u8, i32, i64, f32, f64 };

std::size_t size_of(Element element);

struct ArrayFile {
  FileBytes file;
  Element element = Element::u8;
  Shape shape;
  std::size_t offset = 0;  ///< Of the first number, in bytes.

  /// The bytes of entry `index` of the first dimension.
  std::span<const std::byte> entry(std::int64_t index) const;
  /// The offset of that entry in the file, for messages.
  std::size_t entry_offset(std::int64_t index) const;
  /// See FileBytes::will_read.
  void will_read(Range entries) const;
};

/// Throws Error(file) unless the file holds exactly the numbers that its header states, and at
/// least one.
void check_size(const ArrayFile& array);

}  // namespace troika::data
