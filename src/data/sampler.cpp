#include "data/sampler.h"

#include <bit>

#include "base/error.h"
#include "base/hash.h"

namespace troika::data {
namespace {

constexpr std::uint64_t kRounds = 8;

/// A Feistel network: a bijection on numbers of 2 * half_bits bits.
std::uint64_t scramble(const RandomStream& random, int half_bits, std::uint64_t value) {
  std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::uint64_t mixed = left ^ (random.words(round << 32 | right)[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

}  // namespace

std::int64_t permute(const RandomStream& random, std::int64_t size, std::int64_t index) {
  TROIKA_CHECK(index >= 0 && index < size);
  int half_bits = (std::bit_width(static_cast<std::uint64_t>(size - 1)) + 1) / 2;
  auto value = static_cast<std::uint64_t>(index);
  // Follow the cycle until it is back inside; at most about four steps on average, since the domain
  // is less than 4 * size.
  do value = scramble(random, half_bits, value);
  while (value >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(value);
}

Sampler::Sampler(std::int64_t size, Options options) : size_(size), options_(options) {
  TROIKA_CHECK(size >= 1);
}

Sample Sampler::at(std::int64_t position) const {
  TROIKA_CHECK(position >= 0);
  Sample sample{.index = position % size_, .epoch = position / size_};
  if (options_.order == Order::sequential) return sample;
  RandomStream random{.key = options_.seed,
                      .stream = hash_text("order"),
                      .step = static_cast<std::uint32_t>(sample.epoch)};
  sample.index = permute(random, size_, sample.index);
  return sample;
}

}  // namespace troika::data
