#include "base/random.h"

#include <cmath>
#include <numbers>

namespace troika {

double RandomStream::normal(std::uint64_t index) const {
  // A block of four words serves two indices, with two words each.
  auto w = words(index / 2);
  std::size_t pair = index % 2 * 2;
  // One is added to the word because the logarithm of 0 is not finite.
  double radius = std::sqrt(-2 * std::log((w[pair] + 1.0) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * w[pair + 1] * 0x1p-32);
}

}  // namespace troika
