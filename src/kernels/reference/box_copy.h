// Copies between a tensor and one box of it, for any element type.
#pragma once

#include <cstring>

#include "tensor/region.h"
#include "tensor/tensor_spec.h"

namespace troika {

/// Writes the elements of `box`, in row-major order, to `part`.
inline void copy_from_box(const TensorSpec& whole, const Region& box, const std::byte* from,
                          std::byte* part) {
  auto size = static_cast<std::size_t>(size_of(whole.dtype).count);
  for_each_run(whole.shape, box, [&](std::int64_t offset, std::int64_t length) {
    std::memcpy(part, from + static_cast<std::size_t>(offset) * size,
                static_cast<std::size_t>(length) * size);
    part += static_cast<std::size_t>(length) * size;
  });
}

/// The inverse. Elements outside the box are not changed.
inline void copy_to_box(const TensorSpec& whole, const Region& box, const std::byte* part,
                        std::byte* to) {
  auto size = static_cast<std::size_t>(size_of(whole.dtype).count);
  for_each_run(whole.shape, box, [&](std::int64_t offset, std::int64_t length) {
    std::memcpy(to + static_cast<std::size_t>(offset) * size, part,
                static_cast<std::size_t>(length) * size);
    part += static_cast<std::size_t>(length) * size;
  });
}

}  // namespace troika
