// Each call keeps a few rows of sums in registers over the whole depth and stores them once. The
// templates fix all extents of the inner loops, so that the compiler keeps the sums in registers.
#include "base/error.h"
#include "kernels/cpu/vector_lanes.h"
#include "kernels/cpu/winograd_plan.h"

namespace troika {
namespace {

/// Rows x Width vectors of c. `first` is the first row of a. If turned, all of the depth is one
/// block, so the outer loop runs once.
template <int Lanes, bool Turned, int Width, int Rows>
TROIKA_INLINE void multiply_rows(const PointProducts& p, const float* first, const float* b,
                                 float* c) {
  constexpr int kRow = Turned ? 1 : Lanes, kStep = Turned ? Lanes : 1;
  Vector<Lanes> sums[Rows][Width] = {};
  const std::int64_t inner = Turned ? p.depth : Lanes;
  for (std::int64_t block = 0; block < p.depth; block += inner, first += p.a_block) {
    const float* a = first;
    if constexpr (!Turned) {
      // Rows of one block are neighbours, but the next block is a_block floats further on.
#pragma GCC unroll 24
      for (int i = 0; i < Rows; ++i) __builtin_prefetch(first + 2 * p.a_block + i * kRow);
    }
    for (std::int64_t k = 0; k < inner; ++k, a += kStep, b += Width * Lanes)
      add_outer_product<Lanes>(sums, a, kRow, b);
  }
#pragma GCC unroll 24
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Width; ++v) {
      float* to = c + (i * Width + v) * Lanes;
      Vector<Lanes> before = {};
      if (p.adds) load(before, to);
      sums[i][v] += before;
      store(sums[i][v], to);
    }
  }
}

/// Multiplies as many rows at once as the registers hold, then half as many for the rest.
template <int Lanes, bool Turned, int Width, int Rows>
TROIKA_INLINE void multiply_point(const PointProducts& p, const float* a, const float* b, float* c,
                                  std::int64_t row) {
  constexpr int kRow = Turned ? 1 : Lanes;
  for (; row + Rows <= p.rows; row += Rows)
    multiply_rows<Lanes, Turned, Width, Rows>(p, a + row * kRow, b, c + row * Width * Lanes);
  if constexpr (Rows > 1) multiply_point<Lanes, Turned, Width, Rows / 2>(p, a, b, c, row);
}

/// Vectors of sums that fit into registers with one row of b and one number of a: AVX-512 has 32
/// registers, AVX2 has 16.
constexpr int sums_in_registers(int lanes) { return lanes == 16 ? 24 : 12; }

/// If not turned, the rows are tiles, of which there may be any number; multiply_point covers a
/// rest. If turned, the rows are one vector, so a divisor of its lanes leaves no rest.
constexpr int rows_at_once(int lanes, bool turned, int width) {
  int rows = sums_in_registers(lanes) / width;
  if (!turned) return rows;
  int even = lanes;
  while (even > rows) even /= 2;
  return even;
}

template <int Lanes, bool Turned, int Width>
TROIKA_INLINE void multiply_points(const PointProducts& products) {
  PointProducts p = products;  // a copy cannot alias what is written
  for (std::int64_t point = 0; point < p.count; ++point)
    multiply_point<Lanes, Turned, Width, rows_at_once(Lanes, Turned, Width)>(
        p, p.a + point * p.a_next, p.b + point * p.b_next, p.c + point * p.c_next, 0);
}

template <int Lanes, bool Turned>
void multiply_panel(const PointProducts& p) {
  switch (p.width) {
    case 4:
      return call_with_lanes<Lanes>([&] { multiply_points<Lanes, Turned, 4>(p); });
    case 3:
      return call_with_lanes<Lanes>([&] { multiply_points<Lanes, Turned, 3>(p); });
    case 2:
      return call_with_lanes<Lanes>([&] { multiply_points<Lanes, Turned, 2>(p); });
    default:
      return call_with_lanes<Lanes>([&] { multiply_points<Lanes, Turned, 1>(p); });
  }
}

}  // namespace

void multiply(const PointProducts& products) {
  TROIKA_CHECK(products.width >= 1 && products.width <= 4);
  if (products.lanes == 16)
    return products.turned ? multiply_panel<16, true>(products)
                           : multiply_panel<16, false>(products);
  return products.turned ? multiply_panel<8, true>(products) : multiply_panel<8, false>(products);
}

}  // namespace troika
