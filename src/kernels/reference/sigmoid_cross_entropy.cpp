#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/sample_loss.h"

namespace troika {

void run_reference(const SigmoidCrossEntropy&, const Arguments& a) {
  dispatch(a.spec(0).dtype, [&]<class T>() {
    run_sample_loss<T>(
        a,
        [](T x, T target) {
          // log1p, because exp(-|x|) may be too small to change 1.
          return (x > 0 ? x : 0) - x * target + std::log1p(std::exp(-std::abs(x)));
        },
        [](T x, T target) { return 1 / (1 + std::exp(-x)) - target; });
  });
}

}  // namespace troika
