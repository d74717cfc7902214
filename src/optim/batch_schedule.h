// Increases the batch instead of decreasing the learning rate: Smith et al., "Don't decay the
// learning rate, increase the batch size", ICLR 2018, arXiv:1711.00489. Where a step schedule would
// divide the rate by `factor`, the batch is multiplied by it. The noise scale of SGD is the same,
// with fewer updates.
#pragma once

#include <cstdint>

namespace troika {

struct BatchSchedule {
  std::int64_t start = 64;
  std::int64_t factor = 1;  ///< 1: the batch never changes.
  double every_epochs = 1;  ///< Above 0.
  std::int64_t limit = 0;   ///< Largest batch; 0: no limit.

  bool operator==(const BatchSchedule&) const = default;
};

/// Returns the global batch at `epoch`, which may be fractional: start * factor^k with k =
/// floor(epoch / every_epochs), where the last increase is the last one within `limit`.
std::int64_t global_batch(const BatchSchedule& schedule, double epoch);

}  // namespace troika
