// The transforms of Winograd's convolution with 3x3 weights (A. Lavin and S. Gray, Fast Algorithms
// for Convolutional Neural Networks, arXiv 1509.09308): with g the weights and d a tile of the
// image, a tile of places is At[(G g Gt) * (Bt d B)]A. The gradient of the weights is the adjoint,
// Gt[(A dy At) * (Bt d B)]G. Each function is one matrix times one column.
#pragma once

#include "kernels/cpu/winograd_lanes.h"

namespace troika {

template <int Outputs>
struct WinogradPoints;

/// F(4x4, 3x3): points 0, 1, -1, 2, -2 and infinity.
template <>
struct WinogradPoints<4> {
  struct Image {  // Bt
    template <class V>
    TROIKA_INLINE void operator()(const V (&d)[6], V (&to)[6]) const {
      V even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1];
      V even2 = d[4] - d[2], odd2 = 2 * (d[3] - d[1]);
      to[0] = 4 * d[0] - 5 * d[2] + d[4];
      to[1] = even + odd, to[2] = even - odd;
      to[3] = even2 + odd2, to[4] = even2 - odd2;
      to[5] = 4 * d[1] - 5 * d[3] + d[5];
    }
  };
  struct Weight {  // G
    template <class V>
    TROIKA_INLINE void operator()(const V (&g)[3], V (&to)[6]) const {
      V even = (g[0] + g[2]) * (-1.0f / 6), odd = g[1] * (-1.0f / 6);
      V even2 = g[0] * (1.0f / 24) + g[2] * (1.0f / 6), odd2 = g[1] * (1.0f / 12);
      to[0] = 0.25f * g[0];
      to[1] = even + odd, to[2] = even - odd;
      to[3] = even2 + odd2, to[4] = even2 - odd2;
      to[5] = g[2];
    }
  };
  struct Places {  // At
    template <class V>
    TROIKA_INLINE void operator()(const V (&m)[6], V (&to)[4]) const {
      V even = m[1] + m[2], odd = m[1] - m[2], even2 = m[3] + m[4], odd2 = m[3] - m[4];
      to[0] = m[0] + even + even2;
      to[1] = odd + 2 * odd2;
      to[2] = even + 4 * even2;
      to[3] = odd + 8 * odd2 + m[5];
    }
  };
  struct PlacesGradient {  // A
    template <class V>
    TROIKA_INLINE void operator()(const V (&y)[4], V (&to)[6]) const {
      V even = y[0] + y[2], odd = y[1] + y[3];
      V even2 = y[0] + 4 * y[2], odd2 = 2 * y[1] + 8 * y[3];
      to[0] = y[0];
      to[1] = even + odd, to[2] = even - odd;
      to[3] = even2 + odd2, to[4] = even2 - odd2;
      to[5] = y[3];
    }
  };
  struct WeightGradient {  // Gt
    template <class V>
    TROIKA_INLINE void operator()(const V (&u)[6], V (&to)[3]) const {
      V even = (u[1] + u[2]) * (1.0f / 6), even2 = u[3] + u[4];
      to[0] = 0.25f * u[0] - even + even2 * (1.0f / 24);
      to[1] = (u[2] - u[1]) * (1.0f / 6) + (u[3] - u[4]) * (1.0f / 12);
      to[2] = even2 * (1.0f / 6) - even + u[5];
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
  struct Places {
    template <class V>
    TROIKA_INLINE void operator()(const V (&m)[4], V (&to)[2]) const {
      to[0] = m[0] + m[1] + m[2], to[1] = m[1] - m[2] - m[3];
    }
  };
  struct PlacesGradient {
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

/// The matrix of `one` from both sides: first along the columns, then along the rows.
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
