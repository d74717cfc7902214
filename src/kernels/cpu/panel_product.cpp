#include "kernels/cpu/panel_product.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/product_tile.h"

namespace troika {
namespace {

/// This depth of a panel stays in the second-level cache while all rows are multiplied by it.
constexpr std::int64_t kPanelDepth = 512;

bool has_16_lanes() { return widest_vector() == 16; }

std::int64_t panel_width() { return has_16_lanes() ? kPanelColumns<16> : kPanelColumns<8>; }

template <int Lanes>
TROIKA_INLINE void multiply_rows_by_panel(TileInput in, std::int64_t rows, TileOutput out) {
  while (rows > 0) {
    std::int64_t height = rows_of_next_tile<Lanes>(rows);
    multiply_tile_of<Lanes>(height, in, out);
    in.a += height * in.a_row;
    out.skip(height, 0);
    rows -= height;
  }
}

template <int Lanes>
TROIKA_INLINE void multiply_panel(const PanelProduct& p, std::int64_t panel) {
  std::int64_t first = panel * kPanelColumns<Lanes>;
  TileOutput out{.c = p.c + first,
                 .c_row = p.c_row,
                 .columns = std::min(kPanelColumns<Lanes>, p.columns - first),
                 .adds = p.adds,
                 .tail = {}};
  const float* b = p.panels + first * p.depth;
  std::int64_t width = (out.columns + Lanes - 1) / Lanes * Lanes;
  for (std::int64_t k = 0; k < p.depth; k += kPanelDepth) {
    std::int64_t depth = std::min(kPanelDepth, p.depth - k);
    multiply_rows_by_panel<Lanes>({p.a + k, p.a_row, b + k * width, depth}, p.rows, out);
    out.adds = true;
  }
}

TROIKA_VECTORIZED_16 void multiply_panel16(const PanelProduct& product, std::int64_t panel) {
  multiply_panel<16>(product, panel);
}
TROIKA_VECTORIZED_8 void multiply_panel8(const PanelProduct& product, std::int64_t panel) {
  multiply_panel<8>(product, panel);
}

TROIKA_VECTORIZED_16 void pack_panel16(const Factor& b, std::int64_t depth, std::int64_t columns,
                                       float* to) {
  pack_panel<16>(b, depth, columns, to);
}
TROIKA_VECTORIZED_8 void pack_panel8(const Factor& b, std::int64_t depth, std::int64_t columns,
                                     float* to) {
  pack_panel<8>(b, depth, columns, to);
}

}  // namespace

std::int64_t panel_floats(std::int64_t depth, std::int64_t columns) {
  std::int64_t width = panel_width();
  return (columns + width - 1) / width * width * depth;
}

void pack_panels(const SharedFactor& factor, int threads, float* panels) {
  std::int64_t width = panel_width(), count = (factor.columns + width - 1) / width;
  Factor b{factor.first, factor.row, factor.column};
  auto pack = has_16_lanes() ? pack_panel16 : pack_panel8;
  for_rows(threads, count, width * factor.depth, [&](std::int64_t panel) {
    std::int64_t first = panel * width;
    pack(part_from(b, 0, first), factor.depth, std::min(width, factor.columns - first),
         panels + first * factor.depth);
  });
}

void multiply(const PanelProduct& product, int threads) {
  std::int64_t width = panel_width(), count = (product.columns + width - 1) / width;
  auto run = has_16_lanes() ? multiply_panel16 : multiply_panel8;
  for_rows(threads, count, product.rows * width * product.depth / 64,
           [&](std::int64_t panel) { run(product, panel); });
}

}  // namespace troika
