// The transforms of Winograd's convolution with 3x3 weights (A. Lavin and S. Gray, Fast Algorithms
// for Convolutional Neural Networks, arXiv 1509.09308, equation 8): with g the weights and d a tile
// of the image, a tile of the output is At[(G g Gt) * (Bt d B)]A, where * is elementwise. The
// gradient of the weights is the adjoint, Gt[(A dy At) * (Bt d B)]G. Each function is one matrix
// times one column.
#pragma once

#include "kernels/cpu/vector_lanes.h"

namespace troika {

template <int Outputs>
struct WinogradPoints;

/// Evaluates a polynomial at a point and at its negative, from its even and odd parts.
template <class V>
TROIKA_INLINE void at_both_signs(const V& even, const V& odd, V& at_point, V& at_negative) {
  at_point = even + odd, at_negative = even - odd;
}

/// F(4x4, 3x3): points 0, p, -p, q, -q and infinity. With 3/4 and 3/2, whose squares and products
/// are exact, errors are a fifth of those with the paper's 1 and 2.
template <>
struct WinogradPoints<4> {
  static constexpr float p = 0.75f, q = 1.5f, p2 = p * p, q2 = q * q;
  static constexpr float at_0 = 1 / (p2 * q2), at_p = 1 / (2 * p2 * (p2 - q2)),
                         at_q = 1 / (2 * q2 * (q2 - p2));

  struct Image {  // Bt
    template <class V>
    TROIKA_INLINE void operator()(const V (&d)[6], V (&to)[6]) const {
      V even_p = d[4] - q2 * d[2], odd_p = p * (d[3] - q2 * d[1]);
      V even_q = d[4] - p2 * d[2], odd_q = q * (d[3] - p2 * d[1]);
      to[0] = p2 * q2 * d[0] - (p2 + q2) * d[2] + d[4];
      at_both_signs(even_p, odd_p, to[1], to[2]);
      at_both_signs(even_q, odd_q, to[3], to[4]);
      to[5] = p2 * q2 * d[1] - (p2 + q2) * d[3] + d[5];
    }
  };
  struct Weight {  // G
    template <class V>
    TROIKA_INLINE void operator()(const V (&g)[3], V (&to)[6]) const {
      V even_p = at_p * g[0] + at_p * p2 * g[2], odd_p = at_p * p * g[1];
      V even_q = at_q * g[0] + at_q * q2 * g[2], odd_q = at_q * q * g[1];
      to[0] = at_0 * g[0];
      at_both_signs(even_p, odd_p, to[1], to[2]);
      at_both_signs(even_q, odd_q, to[3], to[4]);
      to[5] = g[2];
    }
  };
  struct Output {  // At
    template <class V>
    TROIKA_INLINE void operator()(const V (&m)[6], V (&to)[4]) const {
      V even_p = m[1] + m[2], odd_p = m[1] - m[2], even_q = m[3] + m[4], odd_q = m[3] - m[4];
      to[0] = m[0] + even_p + even_q;
      to[1] = p * odd_p + q * odd_q;
      to[2] = p2 * even_p + q2 * even_q;
      to[3] = p * p2 * odd_p + q * q2 * odd_q + m[5];
    }
  };
  struct OutputGradient {  // A
    template <class V>
    TROIKA_INLINE void operator()(const V (&y)[4], V (&to)[6]) const {
      V even_p = y[0] + p2 * y[2], odd_p = p * (y[1] + p2 * y[3]);
      V even_q = y[0] + q2 * y[2], odd_q = q * (y[1] + q2 * y[3]);
      to[0] = y[0];
      at_both_signs(even_p, odd_p, to[1], to[2]);
      at_both_signs(even_q, odd_q, to[3], to[4]);
      to[5] = y[3];
    }
  };
  struct WeightGradient {  // Gt
    template <class V>
    TROIKA_INLINE void operator()(const V (&u)[6], V (&to)[3]) const {
      V even_p = u[1] + u[2], even_q = u[3] + u[4];
      to[0] = at_0 * u[0] + at_p * even_p + at_q * even_q;
      to[1] = at_p * p * (u[1] - u[2]) + at_q * q * (u[3] - u[4]);
      to[2] = at_p * p2 * even_p + at_q * q2 * even_q + u[5];
    }
  };
};

/// F(2x2, 3x3): points 0, 1, -1 and infinity.
template <>
struct WinogradPoints<2> {
  struct Image {
    template <class V>
    TROIKA_INLINE void operator()(const V (&d)[4], V (&to)[4]) const {
      to[0] = d[0] - d[2], to[1] = d[1] + d[2], to[2] = d[2] - d[1], to[3] = d[1] - d[3];
    }
  };
  struct Weight {
    template <class V>
    TROIKA_INLINE void operator()(const V (&g)[3], V (&to)[4]) const {
      V even = 0.5f * (g[0] + g[2]), odd = 0.5f * g[1];
      to[0] = g[0], to[1] = even + odd, to[2] = even - odd, to[3] = g[2];
    }
  };
  struct Output {
    template <class V>
    TROIKA_INLINE void operator()(const V (&m)[4], V (&to)[2]) const {
      to[0] = m[0] + m[1] + m[2], to[1] = m[1] - m[2] - m[3];
    }
  };
  struct OutputGradient {
    template <class V>
    TROIKA_INLINE void operator()(const V (&y)[2], V (&to)[4]) const {
      to[0] = y[0], to[1] = y[0] + y[1], to[2] = y[0] - y[1], to[3] = -y[1];
    }
  };
  struct WeightGradient {
    template <class V>
    TROIKA_INLINE void operator()(const V (&u)[4], V (&to)[3]) const {
      V even = 0.5f * (u[1] + u[2]);
      to[0] = u[0] + even, to[1] = 0.5f * (u[1] - u[2]), to[2] = even + u[3];
    }
  };
};

/// Applies the matrix of `one` from both sides: first along the columns, then along the rows.
template <int From, int To, class V, class One>
TROIKA_INLINE void from_both_sides(const V (&in)[From][From], V (&out)[To][To], const One& one) {
  V half[From][To];  // by column
#pragma GCC unroll 6
  for (int x = 0; x < From; ++x) {
    V column[From];
#pragma GCC unroll 6
    for (int y = 0; y < From; ++y) column[y] = in[y][x];
    one(column, half[x]);
  }
#pragma GCC unroll 6
  for (int y = 0; y < To; ++y) {
    V row[From];
#pragma GCC unroll 6
    for (int x = 0; x < From; ++x) row[x] = half[x][y];
    one(row, out[y]);
  }
}

}  // namespace troika
