// Threads divide the columns by panels and share no results. With few rows there would be too
// little to divide along them.
#include "kernels/cpu/panel_product.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/product_tile.h"

namespace troika {
namespace {

/// This depth of a panel stays in the second-level cache while all rows are multiplied by it.
constexpr std::int64_t kPanelDepth = 512;

std::int64_t panel_width() { return widest_vector() == 16 ? kPanelColumns<16> : kPanelColumns<8>; }

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
  // Panels have full width except for the last, which is rounded up to vectors (pack_panel).
  std::int64_t width = (out.columns + Lanes - 1) / Lanes * Lanes;
  for (std::int64_t k = 0; k < p.depth; k += kPanelDepth) {
    std::int64_t depth = std::min(kPanelDepth, p.depth - k);
    multiply_rows_by_panel<Lanes>({p.a + k, p.a_row, b + k * width, depth}, p.rows, out);
    out.adds = true;
  }
}

}  // namespace

std::int64_t panel_floats(std::int64_t depth, std::int64_t columns) {
  std::int64_t width = panel_width();
  return (columns + width - 1) / width * width * depth;
}

PanelLayouts panel_layouts() {
  if (widest_vector() == 16) return {Layout::panels16, Layout::turned_panels16};
  return {Layout::panels8, Layout::turned_panels8};
}

void pack_panels(const SharedFactor& factor, int threads, float* panels) {
  std::int64_t width = panel_width(), count = (factor.columns + width - 1) / width;
  Factor b{factor.first, factor.row, factor.column};
  for_rows(threads, count, width * factor.depth, [&](std::int64_t panel) {
    std::int64_t first = panel * width;
    dispatch_lanes(widest_vector(), [&]<int Lanes>(std::integral_constant<int, Lanes>) {
      pack_panel<Lanes>(part_from(b, 0, first), factor.depth,
                        std::min(width, factor.columns - first), panels + first * factor.depth);
    });
  });
}

void multiply(const PanelProduct& product, int threads) {
  std::int64_t width = panel_width(), count = (product.columns + width - 1) / width;
  // 64 multiplications take about as long as an element of kSmallLoop (packed_offer.cpp).
  for_rows(threads, count, product.rows * width * product.depth / 64, [&](std::int64_t panel) {
    dispatch_lanes(widest_vector(), [&]<int Lanes>(std::integral_constant<int, Lanes>) {
      multiply_panel<Lanes>(product, panel);
    });
  });
}

}  // namespace troika
