// The order in which samples are seen, as a pure function: nothing to store but a count, nothing to
// replay on resume.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "data/dataset.h"

namespace troika::data {

/// Where `index` goes in a random permutation of [0, size): a bijection, computed without a table.
/// Black and Rogaway, "Ciphers with arbitrary finite domains", 2002, doi:10.1007/3-540-45760-7_9.
std::int64_t permute(const RandomStream& random, std::int64_t size, std::int64_t index);

enum class Order { shuffled, sequential };

/// An endless row of samples: epoch after epoch, each in an order of its own that depends on (seed,
/// epoch) alone. Batches cut this row, so the remainder of an epoch opens the first batch of the
/// next one.
class Sampler {
 public:
  struct Options {
    Order order = Order::shuffled;
    std::uint64_t seed = 1;
  };

  /// Precondition: size >= 1.
  Sampler(std::int64_t size, Options options);

  /// The sample at `position` of the row; a position is also the cursor that a checkpoint stores.
  Sample at(std::int64_t position) const;

 private:
  std::int64_t size_;
  Options options_;
};

}  // namespace troika::data
