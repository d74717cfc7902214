#include "optim/batch_schedule.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace troika {

std::int64_t global_batch(const BatchSchedule& schedule, double epoch) {
  TROIKA_CHECK(schedule.start >= 1 && schedule.factor >= 1 && schedule.every_epochs > 0);
  if (schedule.factor == 1) return schedule.start;
  std::int64_t limit =
      schedule.limit > 0 ? schedule.limit : std::numeric_limits<std::int64_t>::max();
  double raises = std::floor(epoch / schedule.every_epochs);
  std::int64_t batch = schedule.start;
  // batch <= limit / factor is batch * factor <= limit without the overflow.
  for (double k = 0; k < raises && batch <= limit / schedule.factor; ++k) batch *= schedule.factor;
  return batch;
}

}  // namespace troika
