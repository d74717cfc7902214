#include "data/sampler.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/hash.h"

namespace troika::data {
namespace {

// Four rounds suffice for large domains (Luby and Rackoff, 1988, doi:10.1137/0217022). Small sets
// have halves of a few bits only, for which that bound says nothing; more rounds mix them better.
constexpr std::uint64_t kRounds = 8;
constexpr std::int64_t kRunsPerWindow = 16;

/// A Feistel network: a bijection on numbers of 2 * half_bits bits.
std::uint64_t scramble(const RandomStream& random, int half_bits, std::uint64_t value) {
  std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // A half has at most 32 bits, so (round, right) is one counter and no two rounds share it.
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
  // 2 * half_bits is bit_width or one more: both halves need the same width.
  auto value = static_cast<std::uint64_t>(index);
  // Follow the cycle until it is back in [0, size): about four steps at most on average, because
  // the domain of the network is smaller than 4 * size.
  do value = scramble(random, half_bits, value);
  while (value >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(value);
}

Sampler::Sampler(std::int64_t size, Options options) : size_(size), options_(options) {
  TROIKA_CHECK(size >= 1);
  TROIKA_CHECK(options.window >= 0);
  options_.window = std::min(options.window, size);
}

RandomStream Sampler::random(std::string_view name, std::int64_t epoch, std::int64_t part) const {
  return {.key = options_.seed,
          .stream = hash_text(name) + static_cast<std::uint64_t>(part),
          .step = static_cast<std::uint32_t>(epoch)};
}

Sample Sampler::at(std::int64_t position) const {
  TROIKA_CHECK(position >= 0);
  Sample sample{.index = position % size_, .epoch = position / size_};
  if (options_.order == Order::sequential) return sample;
  if (options_.window == 0) {
    sample.index = permute(random("order", sample.epoch), size_, sample.index);
    return sample;
  }
  // The window of the position; the last one of an epoch may be shorter.
  std::int64_t number = sample.index / options_.window, begin = number * options_.window;
  std::int64_t extent = std::min(options_.window, size_ - begin);
  std::int64_t slot =
      begin + permute(random("window", sample.epoch, number), extent, sample.index - begin);
  sample.index = slot_to_sample(sample.epoch, slot);
  return sample;
}

std::int64_t Sampler::run_length() const {
  return std::max<std::int64_t>(1, options_.window / kRunsPerWindow);
}

/// A slot is a place in the row of an epoch before windows are shuffled.
std::int64_t Sampler::slot_to_sample(std::int64_t epoch, std::int64_t slot) const {
  std::int64_t length = run_length(), whole_runs = size_ / length, run = slot / length;
  // A shorter last run stays last. Which samples are in it changes with the rotation.
  if (run < whole_runs) run = permute(random("runs", epoch), whole_runs, run);
  // The rotation moves the cuts between runs, so that neighbours are not bound to one run forever.
  auto rotation = random("rotation", epoch).below(0, static_cast<std::uint64_t>(size_));
  return (run * length + slot % length + static_cast<std::int64_t>(rotation)) % size_;
}

Range Sampler::run_at(std::int64_t position) const {
  TROIKA_CHECK(options_.window > 0);
  std::int64_t slot = position % size_, length = run_length();
  // The last run of an epoch ends with the set.
  std::int64_t left = std::min(length - slot % length, size_ - slot);
  std::int64_t begin = slot_to_sample(position / size_, slot);
  return {begin, std::min(begin + left, size_)};  // a rotated run may continue at sample 0
}

}  // namespace troika::data
