// The two 16-bit floating-point formats, for storage: conversion to f32 is exact, conversion from
// f32 rounds to nearest, ties to even. Without branches, so that loops over them vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace troika {

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    auto raw = std::bit_cast<std::uint32_t>(value);
    std::uint32_t sign = (raw >> 16) & 0x8000u, size = raw & 0x7fffffffu;
    // 112 is the difference of the exponent biases, 127 - 15. Half an ulp less one, plus the last
    // bit kept, rounds to nearest even; a carry runs into the exponent, as it should.
    std::uint32_t normal = (size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13;
    // Floats near 0.5 have the spacing of subnormal halves, so this addition rounds correctly.
    std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000u;
    // NaN stays a quiet NaN; from 2^16 on (exponent 143 - 127) everything is infinite. Values just
    // below round up to infinity by the carry above.
    std::uint32_t special = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    std::uint32_t rounded = size < (113u << 23) ? subnormal : normal;
    bits = static_cast<std::uint16_t>(sign | (size >= (143u << 23) ? special : rounded));
  }
  operator float() const {
    std::uint32_t sign = (bits & 0x8000u) << 16, size = (bits & 0x7fffu) << 13;
    // All three are computed and one is selected. Infinity and NaN need the largest exponent: 31 +
    // 224 = 255. A subnormal is read as 2^-14 + fraction, from which 2^-14 is subtracted.
    std::uint32_t normal = size + (112u << 23);
    std::uint32_t special = size + (224u << 23);
    std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size + (113u << 23)) - 0x1p-14F);
    std::uint32_t finite = size < (1u << 23) ? subnormal : normal;
    return std::bit_cast<float>(sign | (size >= (31u << 23) ? special : finite));
  }
  bool operator==(const Float16&) const = default;
};

/// The upper half of an f32: 1 sign bit, 8 exponent bits, 7 fraction bits.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    auto raw = std::bit_cast<std::uint32_t>(value);
    std::uint32_t rounded = (raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16;
    // Rounding could carry a NaN over to infinity or zero, so its upper half is kept and made
    // quiet.
    std::uint32_t quiet = (raw >> 16) | 0x40u;
    bits = static_cast<std::uint16_t>((raw & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  bool operator==(const BFloat16&) const = default;
};

}  // namespace troika
