#include "kernels/cpu/panel_product.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

/// Vectors per row of a panel, beside rows of a that fill the registers with sums: 3 x 8 of 32
/// registers of 16 lanes, 2 x 6 of 16 registers of 8.
constexpr int kWidth16 = 3, kRows16 = 8, kWidth8 = 2, kRows8 = 6;
/// So much of a panel stays in the second-level cache while all rows pass by.
constexpr std::int64_t kDepth = 512;

bool has_16_lanes() { return widest_vector() == 16; }

std::int64_t panel_width() { return has_16_lanes() ? 16 * kWidth16 : 8 * kWidth8; }

/// One tile of sums: Rows of a against a part of one panel.
template <int Lanes, int Width, int Rows>
TROIKA_INLINE void multiply_tile(const PanelProduct& p, const float* a, const float* b, float* c,
                                 std::int64_t depth, std::int64_t columns) {
  Vector<Lanes> sums[Rows][Width] = {};
  for (std::int64_t k = 0; k < depth; ++k, b += Width * Lanes)
    add_outer_product<Lanes>(sums, a + k, p.a_row, b);
  float tile[Rows][Width * Lanes];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Width; ++v) store(sums[i][v], tile[i] + v * Lanes);
  }
  for (int i = 0; i < Rows; ++i) {
    float* to = c + i * p.c_row;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = tile[i][j] + (p.adds ? to[j] : 0.0f);
  }
}

/// As many rows at once as the registers hold, then half as many for the rest.
template <int Lanes, int Width, int Rows>
TROIKA_INLINE void multiply_rows(const PanelProduct& p, std::int64_t row, const float* b, float* c,
                                 std::int64_t depth, std::int64_t columns) {
  for (; row + Rows <= p.rows; row += Rows)
    multiply_tile<Lanes, Width, Rows>(p, p.a + row * p.a_row, b, c + row * p.c_row, depth, columns);
  if constexpr (Rows > 1) multiply_rows<Lanes, Width, Rows / 2>(p, row, b, c, depth, columns);
}

template <int Lanes, int Width, int Rows>
TROIKA_VECTORIZED void multiply_panel(const PanelProduct& product, std::int64_t panel) {
  PanelProduct p = product;  // a copy cannot alias what is written
  constexpr std::int64_t kColumns = Lanes * Width;
  const float* b = p.panels + panel * kColumns * p.depth;
  float* c = p.c + panel * kColumns;
  std::int64_t columns = std::min(kColumns, p.columns - panel * kColumns);
  for (std::int64_t first = 0; first < product.depth; first += kDepth) {
    std::int64_t depth = std::min(kDepth, product.depth - first);
    multiply_rows<Lanes, Width, Rows>(p, 0, b + first * kColumns, c, depth, columns);
    p.a += depth;
    p.adds = true;
  }
}

TROIKA_VECTORIZED void pack_panel(const SharedFactor& factor, std::int64_t width,
                                  std::int64_t panel, float* to) {
  std::int64_t columns = std::min(width, factor.columns - panel * width);
  const float* from = factor.first + panel * width * factor.column;
  for (std::int64_t k = 0; k < factor.depth; ++k, to += width) {
    for (std::int64_t j = 0; j < columns; ++j) to[j] = from[k * factor.row + j * factor.column];
    for (std::int64_t j = columns; j < width; ++j) to[j] = 0;
  }
}

}  // namespace

std::int64_t panel_floats(std::int64_t depth, std::int64_t columns) {
  std::int64_t width = panel_width();
  return (columns + width - 1) / width * width * depth;
}

void pack_panels(const SharedFactor& factor, int threads, float* panels) {
  std::int64_t width = panel_width(), count = (factor.columns + width - 1) / width;
  for_rows(threads, count, width * factor.depth, [&](std::int64_t panel) {
    pack_panel(factor, width, panel, panels + panel * width * factor.depth);
  });
}

void multiply(const PanelProduct& product, int threads) {
  std::int64_t width = panel_width(), count = (product.columns + width - 1) / width;
  auto run = [&](std::int64_t panel) {
    if (has_16_lanes())
      multiply_panel<16, kWidth16, kRows16>(product, panel);
    else
      multiply_panel<8, kWidth8, kRows8>(product, panel);
  };
  for_rows(threads, count, product.rows * width * product.depth / 64, run);
}

}  // namespace troika
