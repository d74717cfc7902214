#include "tensor/layout.h"

#include <fmt/format.h>

#include <array>

namespace troika {
namespace {

struct Blocks {
  Layout layout;
  std::string_view name;
  std::size_t rank;         // required rank, 0 = any
  std::int64_t dim0, dim1;  // the dimension is padded to a multiple of this
};

constexpr std::array<Blocks, 14> kLayouts{{{Layout::plain, "plain", 0, 1, 1},
                                           {Layout::channels_last, "channels_last", 4, 1, 1},
                                           {Layout::blocked8, "blocked8", 4, 1, 8},
                                           {Layout::blocked16, "blocked16", 4, 1, 16},
                                           {Layout::transposed, "transposed", 2, 1, 1},
                                           {Layout::weight_io8, "weight_io8", 4, 8, 8},
                                           {Layout::weight_io16, "weight_io16", 4, 16, 16},
                                           {Layout::weight_oi8, "weight_oi8", 4, 8, 8},
                                           {Layout::weight_oi16, "weight_oi16", 4, 16, 16},
                                           {Layout::weight_o8, "weight_o8", 4, 8, 1},
                                           {Layout::weight_o16, "weight_o16", 4, 16, 1},
                                           {Layout::weight_hwio, "weight_hwio", 4, 1, 1},
                                           {Layout::group_g8, "group_g8", 4, 8, 1},
                                           {Layout::group_g16, "group_g16", 4, 16, 1}}};

const Blocks& row_of(Layout layout) { return kLayouts[static_cast<std::size_t>(layout)]; }

std::int64_t padded(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block * block;
}

}  // namespace

std::string_view to_string(Layout layout) { return row_of(layout).name; }

Layout parse_layout(std::string_view text) {
  for (const Blocks& row : kLayouts) {
    if (row.name == text) return row.layout;
  }
  throw Error(ErrorKind::file, fmt::format("'{}' is not the name of a layout", text));
}

bool fits(Layout layout, const Shape& shape) {
  return row_of(layout).rank == 0 || row_of(layout).rank == shape.rank();
}

std::int64_t stored_elements(Layout layout, const Shape& shape) {
  TROIKA_CHECK(fits(layout, shape),
               fmt::format("{} cannot lie {}", to_string(shape), to_string(layout)));
  Shape stored = shape;
  if (row_of(layout).dim0 > 1) stored[0] = padded(shape[0], row_of(layout).dim0);
  if (row_of(layout).dim1 > 1) stored[1] = padded(shape[1], row_of(layout).dim1);
  return stored.elements();
}

Bytes stored_bytes(Layout layout, const Shape& shape, DType dtype) {
  return size_of(dtype) * stored_elements(layout, shape);
}

}  // namespace troika
