#include "base/hash.h"

#include <cstring>

namespace troika {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  // Each round is a bijection of the state for a given word, so two inputs of equal length that
  // differ in one word end in different states. The first state has the golden ratio, as in
  // SplitMix64.
  std::uint64_t state = 0x9e3779b97f4a7c15u ^ bytes.size();
  auto absorb = [&state](std::uint64_t word) { state = mix(state, word); };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    absorb(word);
  }
  // Always absorbed, even if empty. Padding with zeros is safe because the length is in the first
  // state.
  std::uint64_t tail = 0;
  if (at < bytes.size()) std::memcpy(&tail, bytes.data() + at, bytes.size() - at);
  absorb(tail);
  return state;
}

}  // namespace troika
