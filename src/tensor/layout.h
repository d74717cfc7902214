// The order of a tensor's elements in memory, as a closed list of names: sizes and offsets can be
// computed without the kernel library that uses a layout (docs/design.md, Lowering).
#pragma once

#include <cstdint>
#include <optional>
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
  // Matrices whose rows are the first two dimensions together, as the gates and units of recurrent
  // weights are, in panels of columns. A panel is as wide as a product holds in registers, and the
  // last one as many vectors as it needs.
  panels8,          ///< P,k,16j: panels of two vectors of 8.
  panels16,         ///< P,k,48j: panels of three vectors of 16.
  turned_panels8,   ///< panels8 of the transposed matrix.
  turned_panels16,  ///< panels16 of the transposed matrix.
};
inline constexpr std::size_t kLayoutCount = static_cast<std::size_t>(Layout::turned_panels16) + 1;

/// The panels of layouts that have them.
struct PanelShape {
  std::int64_t columns;  ///< Of every panel but the last.
  std::int64_t vector;   ///< The last panel is rounded up to a multiple of this.
  bool turned;           ///< Columns of the panels are rows of the tensor's matrix.
};
std::optional<PanelShape> panels_of(Layout layout);

/// A matrix in panels, one after another.
struct Panels {
  Panels(const PanelShape& panel_shape, const Shape& shape);

  /// With the padding of the last panel.
  std::int64_t elements() const;
  std::int64_t offset(std::int64_t row, std::int64_t column) const;

  PanelShape panel;
  std::int64_t rows, columns;  ///< Of the tensor's matrix.
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
