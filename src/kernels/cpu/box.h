// Boxes of elements walked by number: what broadcasting and transposing loops share.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/shape.h"

namespace troika {

using Strides = std::array<std::int64_t, kMaxRank>;

/// Elements between neighbours along y's dimensions inside an input that is broadcast to y; 0 where
/// it is stretched.
inline Strides broadcast_strides(const Shape& input, const Shape& y) {
  Strides broadcast{}, strides = input.strides();
  for (std::size_t dim = 0; dim < input.rank(); ++dim) {
    std::size_t at = dim + y.rank() - input.rank();
    broadcast[at] = input[dim] == y[at] ? strides[dim] : 0;
  }
  return broadcast;
}

/// Some dimensions of a tensor, in row-major order, and the offsets of their elements in up to
/// three tensors.
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
