#include "tensor/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace troika {
namespace {

struct Description {
  Layout layout;
  std::string_view name;
  std::size_t rank;         // required rank, 0 = any
  std::int64_t dim0, dim1;  // block size of dimensions 0 and 1; the last block is padded
  // Dimensions in memory order, outermost first: of the blocks, then inside a block.
  std::string_view blocks, inside;
};

// In the order of the enumeration: row_of indexes it. A digit is a dimension of the shape, so 0231
// is n,h,w,c. `plain` has any rank; its order is made in index_offsets. Panels::offset places
// panels.
constexpr std::array<Description, kLayoutCount> kLayouts{
    {{Layout::plain, "plain", 0, 1, 1, "", ""},
     {Layout::channels_last, "channels_last", 4, 1, 1, "0231", ""},
     {Layout::blocked8, "blocked8", 4, 1, 8, "0123", "1"},
     {Layout::blocked16, "blocked16", 4, 1, 16, "0123", "1"},
     {Layout::transposed, "transposed", 2, 1, 1, "10", ""},
     {Layout::weight_io8, "weight_io8", 4, 8, 8, "0123", "10"},
     {Layout::weight_io16, "weight_io16", 4, 16, 16, "0123", "10"},
     {Layout::weight_oi8, "weight_oi8", 4, 8, 8, "0123", "01"},
     {Layout::weight_oi16, "weight_oi16", 4, 16, 16, "0123", "01"},
     {Layout::weight_o8, "weight_o8", 4, 8, 1, "0231", "0"},
     {Layout::weight_o16, "weight_o16", 4, 16, 1, "0231", "0"},
     {Layout::weight_hwio, "weight_hwio", 4, 1, 1, "2310", ""},
     {Layout::group_g8, "group_g8", 4, 8, 1, "0123", "0"},
     {Layout::group_g16, "group_g16", 4, 16, 1, "0123", "0"},
     {Layout::panels8, "panels8", 3, 1, 1, "", ""},
     {Layout::panels16, "panels16", 3, 1, 1, "", ""},
     {Layout::turned_panels8, "turned_panels8", 3, 1, 1, "", ""},
     {Layout::turned_panels16, "turned_panels16", 3, 1, 1, "", ""}}};

const Description& row_of(Layout layout) { return kLayouts[static_cast<std::size_t>(layout)]; }

std::int64_t padded(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block * block;
}

std::int64_t block_of(const Description& row, std::size_t dim) {
  return dim == 0 ? row.dim0 : dim == 1 ? row.dim1 : 1;
}

/// Returns one offset per index of each dimension. The offset of an element is the sum over its
/// indices.
std::vector<std::vector<std::int64_t>> index_offsets(Layout layout, const Shape& shape) {
  const Description& row = row_of(layout);
  std::string order(row.blocks);
  for (std::size_t dim = 0; row.rank == 0 && dim < shape.rank(); ++dim)
    order += static_cast<char>('0' + dim);
  std::vector<std::vector<std::int64_t>> offsets(shape.rank());
  for (std::size_t dim = 0; dim < shape.rank(); ++dim)
    offsets[dim].assign(static_cast<std::size_t>(shape[dim]), 0);
  std::int64_t stride = 1;
  // Index i of a blocked dimension is element i % block of block i / block. It occurs twice in the
  // order, once outside and once inside, and gets an offset from each.
  auto lay_out = [&](std::string_view dims, bool inside) {
    for (auto letter = dims.rbegin(); letter != dims.rend(); ++letter) {
      auto dim = static_cast<std::size_t>(*letter - '0');
      const std::int64_t block = block_of(row, dim);
      for (std::int64_t i = 0; i < shape[dim]; ++i)
        offsets[dim][static_cast<std::size_t>(i)] += (inside ? i % block : i / block) * stride;
      // The last block takes its full space even if the extent does not fill it.
      stride *= inside ? block : padded(shape[dim], block) / block;
    }
  };
  // The stride grows from the innermost dimension outwards, so the inside of a block comes first.
  lay_out(row.inside, true);
  lay_out(order, false);
  return offsets;
}

std::vector<std::int64_t> panel_offsets(const Panels& panels) {
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(panels.rows * panels.columns));
  for (std::int64_t row = 0; row < panels.rows; ++row)
    for (std::int64_t column = 0; column < panels.columns; ++column)
      all.push_back(panels.offset(row, column));
  return all;
}

}  // namespace

std::optional<PanelShape> panels_of(Layout layout) {
  if (layout < Layout::panels8) return std::nullopt;
  bool wide = layout == Layout::panels16 || layout == Layout::turned_panels16;
  return PanelShape{.columns = wide ? 48 : 16,
                    .vector = wide ? 16 : 8,
                    .turned = layout >= Layout::turned_panels8};
}

Panels::Panels(const PanelShape& panel_shape, const Shape& shape)
    : panel(panel_shape), rows(shape.product(0, shape.rank() - 1)), columns(shape.back()) {}

std::int64_t Panels::elements() const {
  return (panel.turned ? columns : rows) * padded(panel.turned ? rows : columns, panel.vector);
}

// Not the sum of an offset per index as in index_offsets, because rows of the last panel are
// shorter.
std::int64_t Panels::offset(std::int64_t row, std::int64_t column) const {
  auto [k, j] = panel.turned ? std::pair(column, row) : std::pair(row, column);
  auto [depth, width] = panel.turned ? std::pair(columns, rows) : std::pair(rows, columns);
  std::int64_t first = j - j % panel.columns,
               stride = std::min(panel.columns, padded(width - first, panel.vector));
  return first * depth + k * stride + j - first;
}

std::string_view to_string(Layout layout) { return row_of(layout).name; }

Layout parse_layout(std::string_view text) {
  for (const Description& row : kLayouts) {
    if (row.name == text) return row.layout;
  }
  throw Error(ErrorKind::file, fmt::format("'{}' is not the name of a layout", text));
}

bool fits(Layout layout, const Shape& shape) {
  return row_of(layout).rank == 0 || row_of(layout).rank == shape.rank();
}

std::int64_t stored_elements(Layout layout, const Shape& shape) {
  TROIKA_CHECK(fits(layout, shape),
               fmt::format("layout {} does not fit {}", to_string(layout), to_string(shape)));
  if (std::optional<PanelShape> panel = panels_of(layout)) return Panels(*panel, shape).elements();
  Shape stored = shape;
  if (row_of(layout).dim0 > 1) stored[0] = padded(shape[0], row_of(layout).dim0);
  if (row_of(layout).dim1 > 1) stored[1] = padded(shape[1], row_of(layout).dim1);
  return stored.elements();
}

std::vector<std::int64_t> element_offsets(Layout layout, const Shape& shape) {
  TROIKA_CHECK(fits(layout, shape),
               fmt::format("layout {} does not fit {}", to_string(layout), to_string(shape)));
  if (std::optional<PanelShape> panel = panels_of(layout))
    return panel_offsets(Panels(*panel, shape));
  // Adds one dimension at a time, the last one innermost, which gives row-major order.
  std::vector<std::int64_t> elements{0};
  for (const std::vector<std::int64_t>& offsets : index_offsets(layout, shape)) {
    std::vector<std::int64_t> longer;
    longer.reserve(elements.size() * offsets.size());
    for (std::int64_t element : elements)
      for (std::int64_t offset : offsets) longer.push_back(element + offset);
    elements = std::move(longer);
  }
  return elements;
}

Bytes stored_bytes(Layout layout, const Shape& shape, DType dtype) {
  return size_of(dtype) * stored_elements(layout, shape);
}

}  // namespace troika
