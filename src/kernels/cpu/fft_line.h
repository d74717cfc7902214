// The Fourier transform of one line of complex vectors: as many lines as a vector has lanes at
// once. A line of A x B numbers takes two passes of small transforms that the registers hold
// (J. Cooley and J. Tukey, doi 10.1090/S0025-5718-1965-0178586-1).
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "kernels/cpu/vector_lanes.h"

namespace troika {

template <int Lanes>
struct ComplexVector {
  Vector<Lanes> re, im;
};

template <int Lanes>
TROIKA_INLINE void load(ComplexVector<Lanes>& z, const float* from) {
  load(z.re, from), load(z.im, from + Lanes);
}
template <int Lanes>
TROIKA_INLINE void store(const ComplexVector<Lanes>& z, float* to) {
  store(z.re, to), store(z.im, to + Lanes);
}

/// (a, b) becomes (a + b, a - b).
template <class C>
TROIKA_INLINE void add_and_subtract(C& a, C& b) {
  C sum{a.re + b.re, a.im + b.im}, difference{a.re - b.re, a.im - b.im};
  a = sum, b = difference;
}

/// z becomes -iz.
template <class C>
TROIKA_INLINE void turn_back(C& z) {
  auto re = z.re;
  z.re = z.im, z.im = -re;
}

template <class C>
TROIKA_INLINE void transform_small(C (&z)[4]) {
  add_and_subtract(z[0], z[2]);
  add_and_subtract(z[1], z[3]);
  turn_back(z[3]);
  add_and_subtract(z[0], z[1]);
  add_and_subtract(z[2], z[3]);
  C second = z[1];
  z[1] = z[2], z[2] = second;
}

template <class C>
TROIKA_INLINE void transform_small(C (&z)[8]) {
  constexpr float kHalfRoot = std::numbers::sqrt2_v<float> / 2;
  C even[4] = {z[0], z[2], z[4], z[6]}, odd[4] = {z[1], z[3], z[5], z[7]};
  transform_small(even);
  transform_small(odd);
  odd[1] = {kHalfRoot * (odd[1].re + odd[1].im), kHalfRoot * (odd[1].im - odd[1].re)};
  turn_back(odd[2]);
  odd[3] = {kHalfRoot * (odd[3].im - odd[3].re), -kHalfRoot * (odd[3].re + odd[3].im)};
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    add_and_subtract(even[k], odd[k]);
    z[k] = even[k], z[k + 4] = odd[k];
  }
}

/// Side = kOuter * kInner. The kOuter numbers at distance kInner are transformed first.
template <int Side>
struct LineFactors {
  static constexpr int kOuter = Side == 64 ? 8 : 4, kInner = Side / kOuter;
};

/// Roots of unity between the passes, [inner][outer] pairs of cosine and minus sine.
template <int Side>
inline const std::array<float, 2 * Side> kLineRoots = [] {
  std::array<float, 2 * Side> roots{};
  for (int at = 0; at < Side; ++at) {
    constexpr int kOuter = LineFactors<Side>::kOuter;
    double angle = -2 * std::numbers::pi * (at / kOuter) * (at % kOuter) / Side;
    roots[static_cast<std::size_t>(2 * at)] = static_cast<float>(std::cos(angle));
    roots[static_cast<std::size_t>(2 * at + 1)] = static_cast<float>(std::sin(angle));
  }
  return roots;
}();

/// load(n, z) reads number n of the line, store(k, z) writes that of frequency k; everything is
/// loaded before anything is stored. `known` numbers are loaded, the rest is zero. Swapping the
/// real and imaginary parts of all loads and stores gives the inverse transform, without the
/// division by Side.
template <int Side, int Lanes, class Load, class Store>
TROIKA_INLINE void transform_line(int known, const Load& load, const Store& store) {
  constexpr int kOuter = LineFactors<Side>::kOuter, kInner = LineFactors<Side>::kInner;
  using C = ComplexVector<Lanes>;
  C half[kOuter][kInner];
  for (int inner = 0; inner < kInner; ++inner) {
    C z[kOuter];
#pragma GCC unroll 8
    for (int outer = 0; outer < kOuter; ++outer) {
      z[outer] = C{};
      if (outer * kInner + inner < known) load(outer * kInner + inner, z[outer]);
    }
    transform_small(z);
    const float* roots = kLineRoots<Side>.data() + 2 * inner * kOuter;
    half[0][inner] = z[0];
#pragma GCC unroll 8
    for (int outer = 1; outer < kOuter; ++outer) {
      float re = roots[2 * outer], im = roots[2 * outer + 1];
      half[outer][inner] = {re * z[outer].re - im * z[outer].im,
                            re * z[outer].im + im * z[outer].re};
    }
  }
  for (int outer = 0; outer < kOuter; ++outer) {
    C z[kInner];
#pragma GCC unroll 8
    for (int inner = 0; inner < kInner; ++inner) z[inner] = half[outer][inner];
    transform_small(z);
#pragma GCC unroll 8
    for (int inner = 0; inner < kInner; ++inner) store(outer + kOuter * inner, z[inner]);
  }
}

}  // namespace troika
