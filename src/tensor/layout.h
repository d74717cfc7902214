// The order of a tensor's elements in memory, as a closed list of names: sizes and offsets can be
// computed without the kernel library that uses a layout (docs/design.md, Lowering).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace troika {

/// Capital letters are blocks, small letters are elements; 8c is the innermost dimension, eight
/// channels of one block.
enum class Layout {
  plain,          ///< Row-major.
  channels_last,  ///< n,h,w,c for a tensor of shape n,c,h,w.
  blocked8,       ///< n,C,h,w,8c.
  blocked16,      ///< n,C,h,w,16c.
  transposed,     ///< Column-major matrix (weights i,o of a shape o,i).
  weight_io8,     ///< O,I,h,w,8i,8o.
  weight_io16,    ///< O,I,h,w,16i,16o.
  weight_oi8,     ///< O,I,h,w,8o,8i.
  weight_oi16,    ///< O,I,h,w,16o,16i.
  weight_o8,      ///< O,h,w,i,8o: few input channels.
  weight_o16,     ///< O,h,w,i,16o: few input channels.
  weight_hwio,    ///< h,w,i,o.
  group_g8,       ///< G,h,w,8g: depthwise weights of shape g,1,h,w.
  group_g16,      ///< G,h,w,16g: depthwise weights of shape g,1,h,w.
};

std::string_view to_string(Layout layout);
/// Throws Error(file) if the text is not the name of a layout.
Layout parse_layout(std::string_view text);

/// Returns whether the layout is defined for tensors of this rank.
bool fits(Layout layout, const Shape& shape);
/// Elements occupied, including the padding up to full blocks.
std::int64_t stored_elements(Layout layout, const Shape& shape);
Bytes stored_bytes(Layout layout, const Shape& shape, DType dtype);
/// Returns the offset of each element, with the elements in row-major order. All other offsets are
/// padding, which kernels expect to be zero.
std::vector<std::int64_t> element_offsets(Layout layout, const Shape& shape);

}  // namespace troika
