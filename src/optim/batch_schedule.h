// Raising the batch instead of lowering the rate: Smith et al., "Don't decay the learning rate,
// increase the batch size", ICLR 2018, arXiv:1711.00489. Where a step schedule would multiply the
// rate by 1/factor, the batch is multiplied by factor, which keeps the noise scale of SGD and needs
// fewer updates.
#pragma once

#include <cstdint>

namespace troika {

struct BatchSchedule {
  std::int64_t start = 64;
  std::int64_t factor = 1;  ///< 1: the batch never changes.
  double every_epochs = 1;  ///< Above 0.
  std::int64_t limit = 0;   ///< No batch above this one; 0: no limit.

  bool operator==(const BatchSchedule&) const = default;
};

/// The global batch at `epoch` (counted in samples seen, so it may be a fraction): start * factor^k
/// with k = floor(epoch / every_epochs), raised no further than `limit` allows.
std::int64_t global_batch(const BatchSchedule& schedule, double epoch);

}  // namespace troika
