// The order in which samples are read, as a pure function of a position. A checkpoint stores one
// count, and a resumed run has nothing to replay.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "data/dataset.h"
#include "tensor/region.h"

namespace troika::data {

/// The image of `index` under a random permutation of [0, size), computed without a table.
/// Black and Rogaway, "Ciphers with arbitrary finite domains", 2002, doi:10.1007/3-540-45760-7_9.
std::int64_t permute(const RandomStream& random, std::int64_t size, std::int64_t index);

enum class Order { shuffled, sequential };

/// An endless row of samples: epoch after epoch, each in an order of its own that depends on (seed,
/// epoch) alone. Batches cut this row, so the remainder of an epoch begins the first batch of the
/// next one.
///
/// With a window, the set is cut into runs of neighbouring samples, a sixteenth of a window each.
/// The runs are shuffled, and then the samples of each 16 successive runs. At any time the samples
/// of one window are in use, which a file can be read for in 16 long pieces, and yet a window has
/// samples from 16 random places of the set. The cuts move from epoch to epoch.
class Sampler {
 public:
  struct Options {
    Order order = Order::shuffled;
    std::uint64_t seed = 1;
    std::int64_t window = 0;  ///< In samples; 0: no windows, the whole set is shuffled.
  };

  /// Precondition: size >= 1.
  Sampler(std::int64_t size, Options options);

  /// The sample at `position` of the row; a position is also the cursor that a checkpoint stores.
  Sample at(std::int64_t position) const;

  /// The rest, from `position` on, of a run of neighbouring samples in the row as it is before
  /// windows are shuffled. A window at positions [a, b) uses exactly the runs at [a, b).
  /// Precondition: there is a window.
  Range run_at(std::int64_t position) const;
  /// At most the size of the set.
  std::int64_t window() const { return options_.window; }

 private:
  RandomStream random(std::string_view name, std::int64_t epoch, std::int64_t part = 0) const;
  std::int64_t run_length() const;
  std::int64_t slot_to_sample(std::int64_t epoch, std::int64_t slot) const;

  std::int64_t size_;
  Options options_;
};

}  // namespace troika::data
