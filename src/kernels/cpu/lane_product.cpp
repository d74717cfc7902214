#include "kernels/cpu/lane_product.h"

#include <cstring>

#include "base/vectorized.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

// One vector, or as many as the processor needs for it.
using Lanes __attribute__((vector_size(kLanes * sizeof(float)))) = float;

/// Six rows of sums and one of b fill the sixteen registers of AVX2.
constexpr int kRows = 6;

TROIKA_INLINE void store_columns(const Lanes& sums, float* to, std::int64_t columns, bool adds) {
  if (columns >= kLanes) {
    Lanes whole = {};
    if (adds) std::memcpy(&whole, to, sizeof whole);
    whole += sums;
    std::memcpy(to, &whole, sizeof whole);  // the address need not be aligned
    return;
  }
  for (std::int64_t lane = 0; lane < columns; ++lane)
    to[lane] = adds ? to[lane] + sums[lane] : sums[lane];
}

template <int Rows>
TROIKA_INLINE void multiply_rows(const LaneProduct& p, std::int64_t row, std::int64_t column) {
  Lanes sums[Rows] = {};
  const float *a = p.a.first + row * p.a.row, *b = p.b + column;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a.column, b += p.b_stride) {
    Lanes lanes;
    std::memcpy(&lanes, b, sizeof lanes);
#pragma GCC unroll 6
    for (int i = 0; i < Rows; ++i) sums[i] += a[i * p.a.row] * lanes;
  }
#pragma GCC unroll 6
  for (int i = 0; i < Rows; ++i)
    store_columns(sums[i], p.c + (row + i) * p.c_stride + column, p.columns - column, p.adds);
}

}  // namespace

TROIKA_VECTORIZED void multiply(const LaneProduct& product) {
  LaneProduct p = product;  // a copy cannot alias what is written
  for (std::int64_t column = 0; column < p.columns; column += kLanes) {
    std::int64_t row = 0;
    for (; row + kRows <= p.rows; row += kRows) multiply_rows<kRows>(p, row, column);
    switch (p.rows - row) {
      case 5:
        multiply_rows<5>(p, row, column);
        break;
      case 4:
        multiply_rows<4>(p, row, column);
        break;
      case 3:
        multiply_rows<3>(p, row, column);
        break;
      case 2:
        multiply_rows<2>(p, row, column);
        break;
      case 1:
        multiply_rows<1>(p, row, column);
        break;
      default:
        break;
    }
  }
}

}  // namespace troika
