// 128-bit colours of a colour refinement: hashes that stand for what is known about a vertex.
#pragma once

#include <cstdint>

namespace troika {

/// A multiset of colours is the sum of its mixed members, so no order is needed to compare two. The
/// sums of two different multisets of independent random values are equal with a probability of
/// 2^-128; `mix` stands in for the random function. Members must be mixed before they are added:
/// sums of sums would forget what was added together.
struct Colour {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  constexpr Colour& operator+=(Colour other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  constexpr bool operator==(const Colour&) const = default;
};

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195): a
/// bijection in which each bit of the input changes each bit of the output half of the time.
constexpr std::uint64_t scrambled(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/// The colour of the pair (colour, number). A bijection of the colour for every number: different
/// colours stay different.
constexpr Colour mix(Colour colour, std::uint64_t number) {
  std::uint64_t low =
      scrambled(colour.low + 0x9e3779b97f4a7c15u * (colour.high + 0xd1b54a32d192ed03u * number));
  return {low, scrambled(colour.high ^ (low << 32 | low >> 32))};
}

/// The colour of the ordered pair.
constexpr Colour mix(Colour first, Colour second) {
  return mix(mix(first, second.low), second.high);
}

}  // namespace troika
