// Counter-based random numbers: a value is a pure function of (key, stream, step, index), so it
// does not depend on which device draws it or in which order (law 2). Philox4x32-10 of Salmon et
// al., SC'11, doi:10.1145/2063384.2063405, with the multipliers and key increments of the paper.
#pragma once

#include <array>
#include <cstdint>

namespace troika {

__extension__ using Wide = unsigned __int128;

/// Returns four independent 32-bit words for one counter value.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// One stream of random numbers: `key` is usually the seed, `stream` the hash of a name, `step` the
/// training step.
struct RandomStream {
  std::uint64_t key = 0;
  std::uint64_t stream = 0;
  std::uint32_t step = 0;

  /// Words 4*block to 4*block+3 of this stream.
  constexpr std::array<std::uint32_t, 4> words(std::uint64_t block) const {
    std::uint64_t mixed = key ^ (stream * 0x9E3779B97F4A7C15u);
    return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), step,
                   static_cast<std::uint32_t>(stream >> 32)},
                  {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)});
  }
  constexpr std::uint32_t word(std::uint64_t index) const { return words(index / 4)[index % 4]; }

  /// Uniform in [0, 1) with 24 bits, so that the value is exact in f32 and in f64.
  constexpr double uniform(std::uint64_t index) const { return (word(index) >> 8) * 0x1p-24; }
  /// Uniform numbers 4*block to 4*block+3 at the cost of one.
  constexpr std::array<double, 4> uniforms(std::uint64_t block) const {
    std::array<double, 4> numbers{};
    std::array<std::uint32_t, 4> drawn = words(block);
    for (std::size_t i = 0; i < 4; ++i) numbers[i] = (drawn[i] >> 8) * 0x1p-24;
    return numbers;
  }
  /// Standard normal by the method of Box and Muller (doi:10.1214/aoms/1177706645); each index uses
  /// two words of its own.
  double normal(std::uint64_t index) const;
  /// Uniform integer in [0, bound), by multiplication instead of a remainder (Lemire 2019,
  /// doi:10.1145/3230636); the bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    auto w = words(index);
    Wide wide = (static_cast<Wide>(w[1]) << 32) | w[0];
    return static_cast<std::uint64_t>(wide * bound >> 64);
  }
};

}  // namespace troika
