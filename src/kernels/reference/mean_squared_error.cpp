#include "kernels/reference/reference.h"
#include "kernels/reference/sample_loss.h"

namespace troika {

void run_reference(const MeanSquaredError&, const Arguments& a) {
  dispatch(a.spec(0).dtype, [&]<class T>() {
    run_sample_loss<T>(
        a, [](T x, T target) { return (x - target) * (x - target); },
        [](T x, T target) { return 2 * (x - target); });
  });
}

}  // namespace troika
