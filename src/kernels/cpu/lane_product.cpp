#include "kernels/cpu/lane_product.h"

#include "kernels/cpu/vector_lanes.h"

namespace troika {
namespace {

/// Rows of sums at once: two vectors each, in addition to two of b, in the 16 registers of AVX2.
/// AVX-512 has twice as many, but not enough general registers for the addresses of more rows.
constexpr int kLaneRows16 = 8, kLaneRows8 = 6;

/// Stores or adds the first `columns` lanes. What follows in c may belong to another head.
template <int Lanes>
TROIKA_INLINE void store_lanes(const Vector<Lanes>& sums, float* to, std::int64_t columns,
                               bool adds) {
  if (columns >= Lanes) {
    Vector<Lanes> whole = {};
    if (adds) load(whole, to);
    whole += sums;
    store(whole, to);
    return;
  }
  for (std::int64_t lane = 0; lane < columns; ++lane)
    to[lane] = adds ? to[lane] + sums[lane] : sums[lane];
}

/// Rows x Width vectors of sums.
template <int Lanes, int Width, int Rows>
TROIKA_INLINE void multiply_lanes(const LaneProduct& p, std::int64_t row, std::int64_t column) {
  Vector<Lanes> sums[Rows][Width] = {};
  const float *a = p.a.first + row * p.a.row, *b = p.b + column;
  const std::int64_t a_row = p.a.row, a_column = p.a.column, b_row = p.b_stride, depth = p.depth;
  for (std::int64_t k = 0; k < depth; ++k, a += a_column, b += b_row)
    add_outer_product<Lanes>(sums, a, a_row, b);
  float* c = p.c + row * p.c_stride + column;
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Width; ++v)
      store_lanes<Lanes>(sums[i][v], c + i * p.c_stride + v * Lanes, p.columns - column - v * Lanes,
                         p.adds);
  }
}

// Not inlined, so that the offsets of all rows stay in registers.
template <int Width, int Rows>
TROIKA_VECTORIZED_16 __attribute__((noinline)) void multiply_lanes16(const LaneProduct& p,
                                                                     std::int64_t row,
                                                                     std::int64_t column) {
  multiply_lanes<16, Width, Rows>(p, row, column);
}
template <int Width, int Rows>
TROIKA_VECTORIZED_8 __attribute__((noinline)) void multiply_lanes8(const LaneProduct& p,
                                                                   std::int64_t row,
                                                                   std::int64_t column) {
  multiply_lanes<8, Width, Rows>(p, row, column);
}

/// Rows from `row` on, the most at once first.
template <int Lanes, int Width, int Rows>
void multiply_columns(const LaneProduct& p, std::int64_t row, std::int64_t column) {
  for (; row + Rows <= p.rows; row += Rows) {
    if constexpr (Lanes == 16)
      multiply_lanes16<Width, Rows>(p, row, column);
    else
      multiply_lanes8<Width, Rows>(p, row, column);
  }
  if constexpr (Rows > 1) {
    if (row < p.rows) multiply_columns<Lanes, Width, Rows - 1>(p, row, column);
  }
}

}  // namespace

void multiply(const LaneProduct& product) {
  // Vectors of b may reach beyond the columns, up to `end`; store_lanes cuts them off. kLanes are
  // one vector of AVX-512 or two of AVX2.
  std::int64_t column = 0, end = pad_to_lanes(product.columns);
  if (widest_vector() == 16) {
    for (; column + 2 * kLanes <= end; column += 2 * kLanes)
      multiply_columns<16, 2, kLaneRows16>(product, 0, column);
    if (column < end) multiply_columns<16, 1, kLaneRows16>(product, 0, column);
    return;
  }
  for (; column < end; column += kLanes) multiply_columns<8, 2, kLaneRows8>(product, 0, column);
}

}  // namespace troika
