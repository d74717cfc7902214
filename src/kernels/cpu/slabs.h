// Tensors as rows of slabs along one dimension, for operators that cut or join there: in memory,
// index i of the dimension is `unit` neighbouring elements in each of `outer` rows.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/offer.h"

namespace troika {

struct Slabs {
  std::int64_t outer = 1, unit = 1;
  std::int64_t block = 1;  ///< So many indices lie together: cuts must be multiples of it.
};

/// How a tensor of this shape falls into slabs; empty where the layout does not keep them together.
std::optional<Slabs> slabs_of(const Shape& shape, Layout layout, std::size_t dim);

/// Joins or cuts one whole tensor and its parts along a dimension.
struct SlabCopy {
  std::size_t dim;
  std::size_t whole;                 ///< Operand.
  std::vector<std::size_t> parts;    ///< Operands.
  std::vector<std::int64_t> begins;  ///< Of each part inside the whole.
  bool to_whole;                     ///< Else from the whole to the parts.
  bool clear = false;                ///< Zeros where no part is written.
};

/// In every layout in which all cuts fall between blocks.
Offers slab_copy_offers(const Request& request, const SlabCopy& copy);

}  // namespace troika
