// Complex matrix products at one frequency point. One factor is conjugated, because layers of a
// network compute correlations, which they call convolutions.
#include "kernels/cpu/fft_line.h"
#include "kernels/cpu/fft_plan.h"

namespace troika {
namespace {

/// sums += a conj(b) for one step of the depth: Rows numbers of a, `a_row` apart, and one row of b.
template <int Lanes, int Width, int Rows>
TROIKA_INLINE void add_conjugate_product(ComplexVector<Lanes> (&sums)[Rows][Width], const float* a,
                                         std::int64_t a_row, const float* b) {
  ComplexVector<Lanes> right[Width];
#pragma GCC unroll 2
  for (int v = 0; v < Width; ++v) load(right[v], b + v * 2 * Lanes);
#pragma GCC unroll 12
  for (int i = 0; i < Rows; ++i) {
    float re = a[i * a_row], im = a[i * a_row + Lanes];
#pragma GCC unroll 2
    for (int v = 0; v < Width; ++v) {
      // (re + i im) * conj(b), in an order that does not add to the same sum twice in a row.
      sums[i][v].re += re * right[v].re;
      sums[i][v].im += im * right[v].re;
      sums[i][v].re += im * right[v].im;
      sums[i][v].im -= re * right[v].im;
    }
  }
}

/// Computes Rows rows of Width blocks of columns, over the whole depth. If Width is 2, `block` is
/// even, so both blocks of a row of b are neighbours (Spectra).
template <int Lanes, bool Turned, int Width, int Rows>
TROIKA_INLINE void multiply_rows(const SpectrumProduct& p, std::int64_t row, std::int64_t block) {
  const Spectra &a_at = p.a_spectra, &b_at = p.b_spectra, &c_at = p.c_spectra;
  ComplexVector<Lanes> sums[Rows][Width] = {};
  const float* b = p.b + b_at.offset(0, block);
  const std::int64_t b_row = b_at.row(block), c_row = c_at.row(block);
  if constexpr (Turned) {
    // The rows of c are lanes of a, which are neighbours; each row of a is a step of the depth.
    const float* a = p.a + a_at.offset(0, row / Lanes) + row % Lanes;
    const std::int64_t a_row = a_at.row(row / Lanes);
    for (std::int64_t k = 0; k < p.depth; ++k, a += a_row, b += b_row)
      add_conjugate_product<Lanes>(sums, a, 1, b);
  } else {
    // The lanes of a block of a are steps of the depth. b continues from block to block.
    for (std::int64_t first = 0; first < p.depth; first += Lanes) {
      const float* a = p.a + a_at.offset(row, first / Lanes);
      const std::int64_t a_row = a_at.row(first / Lanes), left = p.depth - first,
                         lanes = left < Lanes ? left : Lanes;
      for (std::int64_t k = 0; k < lanes; ++k, b += b_row)
        add_conjugate_product<Lanes>(sums, a + k, a_row, b);
    }
  }
  float* c = p.c + c_at.offset(row, block);
#pragma GCC unroll 12
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < Width; ++v) {
      float* to = c + i * c_row + v * 2 * Lanes;
      ComplexVector<Lanes> before = {};
      if (p.adds) load(before, to);
      store(ComplexVector<Lanes>{before.re + sums[i][v].re, before.im + sums[i][v].im}, to);
    }
  }
}

/// Multiplies as many rows at once as the registers hold, then half as many for the rest.
template <int Lanes, bool Turned, int Width, int Rows>
TROIKA_INLINE void multiply_columns(const SpectrumProduct& p, std::int64_t block,
                                    std::int64_t row) {
  for (; row + Rows <= p.rows; row += Rows)
    multiply_rows<Lanes, Turned, Width, Rows>(p, row, block);
  if constexpr (Rows > 1) multiply_columns<Lanes, Turned, Width, Rows / 2>(p, block, row);
}

/// In addition to the sums, two registers per vector of b and two for a: AVX-512 has 32, AVX2
/// has 16. If turned, the number of rows divides a vector.
constexpr int spectrum_rows_at_once(int lanes, bool turned, int width) {
  if (lanes == 8) return turned ? 4 : 6;
  if (width == 2) return turned ? 4 : 6;
  return turned ? 8 : 12;
}

template <int Lanes, bool Turned>
TROIKA_INLINE void multiply_all(const SpectrumProduct& product, std::int64_t point) {
  // With the 16 registers of AVX2, two blocks would leave room for two rows only.
  constexpr int kWidth = Lanes == 16 ? 2 : 1;
  SpectrumProduct p = product;  // a copy cannot alias what is written
  p.a += point * p.a_spectra.point();
  p.b += point * p.b_spectra.point();
  p.c += point * p.c_spectra.point();
  std::int64_t block = 0;
  for (; block + kWidth <= p.blocks; block += kWidth)
    multiply_columns<Lanes, Turned, kWidth, spectrum_rows_at_once(Lanes, Turned, kWidth)>(p, block,
                                                                                          0);
  for (; block < p.blocks; ++block)
    multiply_columns<Lanes, Turned, 1, spectrum_rows_at_once(Lanes, Turned, 1)>(p, block, 0);
}

}  // namespace

void multiply(const SpectrumProduct& product, std::int64_t point) {
  dispatch_lanes(product.c_spectra.lanes, [&]<int Lanes>(std::integral_constant<int, Lanes>) {
    product.turned ? multiply_all<Lanes, true>(product, point)
                   : multiply_all<Lanes, false>(product, point);
  });
}

}  // namespace troika
