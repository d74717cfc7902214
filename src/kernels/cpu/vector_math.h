// Elementary functions in f32 that compilers can vectorise: no branches, no calls, a few units in
// the last place. Polynomials: S. Moshier, Cephes (expf, logf, tanhf); Abramowitz and Stegun 7.1.26
// for erf (error 1.5e-7).
#pragma once

#include <cstdint>
#include <cstring>

namespace troika {

#define TROIKA_INLINE __attribute__((always_inline)) inline

TROIKA_INLINE float bits_to_float(std::int32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TROIKA_INLINE std::int32_t float_to_bits(float value) {
  std::int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Keeps NaN; below -87.3 it gives the smallest normal number instead of zero.
TROIKA_INLINE float vector_exp(float x) {
  constexpr float kLog2E = 1.44269504f, kHigh = 0.693359375f, kLow = -2.12194440e-4f;
  // 1.5 * 2^23 + 127: adding it rounds to an integer, which the last bits hold as an exponent.
  constexpr float kRound = 12583039.0f;
  float clipped = x > 88.37f ? 88.37f : x;
  clipped = clipped < -87.33f ? -87.33f : clipped;
  float shifted = clipped * kLog2E + kRound, whole = shifted - kRound;
  float r = (clipped - whole * kHigh) - whole * kLow;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * bits_to_float(float_to_bits(shifted) << 23);
}

/// For normal positive numbers.
TROIKA_INLINE float vector_log(float x) {
  std::int32_t bits = float_to_bits(x), exponent = (bits >> 23) - 126;
  float m = bits_to_float((bits & 0x007fffff) | 0x3f000000);  // in [0.5, 1)
  bool low = m < 0.70710678f;
  float e = static_cast<float>(low ? exponent - 1 : exponent);
  m = (low ? m + m : m) - 1.0f;
  float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float tail = p * m * z + e * -2.12194440e-4f - 0.5f * z;
  return m + tail + e * 0.693359375f;
}

TROIKA_INLINE float vector_sigmoid(float x) { return 1.0f / (1.0f + vector_exp(-x)); }

TROIKA_INLINE float vector_tanh(float x) {
  float magnitude = x < 0 ? -x : x;
  float far = 1.0f - 2.0f / (vector_exp(2.0f * magnitude) + 1.0f);
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = x + x * z * p;
  return magnitude < 0.625f ? near : (x < 0 ? -far : far);
}

TROIKA_INLINE float vector_erf(float x) {
  float magnitude = x < 0 ? -x : x;
  float t = 1.0f / (1.0f + 0.3275911f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  float value = 1.0f - p * t * vector_exp(-magnitude * magnitude);
  return x < 0 ? -value : value;
}

}  // namespace troika
