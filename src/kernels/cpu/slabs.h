// Slabs: the elements with one index along a dimension, for operators that cut or join tensors
// there. In memory, a slab is `unit` contiguous elements in each of `outer` rows.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/offers.h"

namespace troika {

struct Slabs {
  std::int64_t outer = 1, unit = 1;
  std::int64_t block = 1;  ///< Indices that are interleaved: cuts must be multiples of it.
};

/// Returns the slabs of a tensor, or nothing if the layout does not store them contiguously.
std::optional<Slabs> slabs_of(const Shape& shape, Layout layout, std::size_t dim);

/// Joins or cuts one whole tensor and its parts along a dimension.
struct SlabCopy {
  std::size_t dim;
  std::size_t whole;                 ///< Operand.
  std::vector<std::size_t> parts;    ///< Operands.
  std::vector<std::int64_t> begins;  ///< Index of each part inside the whole.
  bool to_whole;       ///< Copies the parts to the whole, else the whole to the parts.
  bool clear = false;  ///< Writes zeros between the parts.
};

/// In every layout in which all cuts fall between blocks.
Offers slab_copy_offers(const Request& request, const SlabCopy& copy);

}  // namespace troika
