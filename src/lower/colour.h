// 128-bit colours of a colour refinement: hashes that stand for what is known about a vertex.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

/// The colour of the ordered pair. One mix is enough for two colours that are mixed already: the
/// sum is as unlikely to meet another one as the colours themselves.
constexpr Colour mix(Colour first, Colour second) {
  constexpr std::uint64_t kOdd = 0xda942042e4dd58b5u;
  return mix(Colour{first.low + kOdd * second.low, first.high + kOdd * second.high}, kOdd);
}

/// Mixes, and remembers the last result: neighbours in a list are mostly equal.
class MemoMix {
 public:
  Colour operator()(Colour colour, std::uint64_t number) {
    if (colour != colour_ || number != number_) {
      colour_ = colour, number_ = number;
      mixed_ = mix(colour, number);
    }
    return mixed_;
  }

 private:
  Colour colour_{};
  std::uint64_t number_ = 0;
  Colour mixed_ = mix(colour_, number_);
};

/// Numbers colours by their first occurrence. Reused from round to round.
class ColourNumbering {
 public:
  explicit ColourNumbering(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  /// Fills `numbers`; returns how many colours there are.
  std::int32_t number(std::span<const Colour> colours, std::vector<std::int32_t>& numbers) {
    std::ranges::fill(slots_, Slot{});
    std::int32_t count = 0;
    for (std::size_t i = 0; i < colours.size(); ++i) {
      Slot& slot = find(colours[i]);
      if (slot.number < 0) slot = {colours[i], count++};
      numbers[i] = slot.number;
    }
    return count;
  }

 private:
  struct Slot {
    Colour colour{};
    std::int32_t number = -1;
  };

  Slot& find(Colour colour) {
    std::size_t place = colour.low & (slots_.size() - 1);
    while (slots_[place].number >= 0 && slots_[place].colour != colour)
      place = (place + 1) & (slots_.size() - 1);
    return slots_[place];
  }

  std::vector<Slot> slots_;
};

}  // namespace troika
