// Boxes of elements in several tensors with different strides, for loops that broadcast or
// transpose.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/shape.h"

namespace troika {

using Strides = std::array<std::int64_t, kMaxRank>;

/// Strides of an input along y's dimensions if it is broadcast to y; 0 along stretched dimensions.
inline Strides broadcast_strides(const Shape& input, const Shape& y) {
  Strides broadcast{}, strides = input.strides();
  for (std::size_t dim = 0; dim < input.rank(); ++dim) {
    std::size_t at = dim + y.rank() - input.rank();
    broadcast[at] = input[dim] == y[at] ? strides[dim] : 0;
  }
  return broadcast;
}

/// A box: some dimensions of an iteration space in row-major order, with the strides of each tensor
/// along them.
template <std::size_t Tensors>
struct Box {
  Shape extents;
  std::array<Strides, Tensors> strides{};

  void add(std::int64_t extent, const std::array<std::int64_t, Tensors>& stride) {
    for (std::size_t tensor = 0; tensor < Tensors; ++tensor)
      strides[tensor][extents.rank()] = stride[tensor];
    extents.push_back(extent);
  }
  std::int64_t elements() const { return extents.elements(); }
  std::array<std::int64_t, Tensors> offsets(std::int64_t element) const {
    std::array<std::int64_t, Tensors> found{};
    for (std::size_t dim = extents.rank(); dim-- > 0;) {
      std::int64_t index = element % extents[dim];
      for (std::size_t tensor = 0; tensor < Tensors; ++tensor)
        found[tensor] += index * strides[tensor][dim];
      element /= extents[dim];
    }
    return found;
  }
};

}  // namespace troika
