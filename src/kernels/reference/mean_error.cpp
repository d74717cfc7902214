#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/sample_loss.h"

namespace troika {

void run_reference(const MeanError& op, const Arguments& a) {
  dispatch(a.spec(0).dtype, [&]<class T>() {
    if (op.penalty == Penalty::absolute)
      return run_sample_loss<T>(
          a, [](T x, T target) { return std::abs(x - target); },
          [](T x, T target) { return static_cast<T>((x > target) - (x < target)); });
    run_sample_loss<T>(
        a, [](T x, T target) { return (x - target) * (x - target); },
        [](T x, T target) { return 2 * (x - target); });
  });
}

}  // namespace troika
