// Vectors of a fixed number of lanes, for kernels that hold their sums in registers.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/vectorized.h"
#include "kernels/cpu/vector_math.h"

namespace troika {

/// Floats in the widest vectors that the processor has and ONEDNN_MAX_CPU_ISA allows; at least 8,
/// which compilers split for narrower processors.
int widest_vector();

template <int Lanes>
struct LaneVector {
  typedef float Type __attribute__((vector_size(Lanes * sizeof(float))));
};
template <int Lanes>
using Vector = typename LaneVector<Lanes>::Type;

template <class F>
TROIKA_VECTORIZED_16 void call_with_16_lanes(const F& f) {
  f();
}
template <class F>
TROIKA_VECTORIZED_8 void call_with_8_lanes(const F& f) {
  f();
}
/// Calls f(), compiled for processors whose widest vectors have `Lanes` lanes. 16 requires that
/// widest_vector() is 16.
template <int Lanes, class F>
void call_with_lanes(const F& f) {
  static_assert(Lanes == 8 || Lanes == 16);
  if constexpr (Lanes == 16)
    call_with_16_lanes(f);
  else
    call_with_8_lanes(f);
}

/// Calls f(Lanes) with the lanes, 8 or 16, as a constant, compiled for them.
template <class F>
void dispatch_lanes(std::int64_t lanes, const F& f) {
  if (lanes == 16)
    call_with_lanes<16>([&] { f(std::integral_constant<int, 16>{}); });
  else
    call_with_lanes<8>([&] { f(std::integral_constant<int, 8>{}); });
}

// By reference, and through memcpy: the address need not be aligned, and no vector is passed in a
// register that the caller's instruction set may lack.
template <class V>
TROIKA_INLINE void load(V& vector, const float* from) {
  std::memcpy(&vector, from, sizeof vector);
}
template <class V>
TROIKA_INLINE void store(const V& vector, float* to) {
  std::memcpy(to, &vector, sizeof vector);
}

/// sums += a b for one step of the depth: Rows numbers of a, `a_row` apart, and one row of b.
template <int Lanes, int Width, int Rows>
TROIKA_INLINE void add_outer_product(Vector<Lanes> (&sums)[Rows][Width], const float* a,
                                     std::int64_t a_row, const float* b) {
  Vector<Lanes> right[Width];
#pragma GCC unroll 4
  for (int v = 0; v < Width; ++v) load(right[v], b + v * Lanes);
#pragma GCC unroll 24
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Width; ++v) sums[i][v] += a[i * a_row] * right[v];
  }
}

}  // namespace troika
