#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace position_reference {

enum Slots { kX, kWeight, kY };

template <class T>
void run(const Arguments& a) {
  // The weights [t,d] repeat for each sample.
  std::int64_t period = a.shape(kWeight).elements();
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX), weight = a.value<const T>(kWeight);
    auto y = a.value<T>(kY);
    for (std::int64_t i = 0; i < a.shape(kX).elements(); ++i) y[i] = x[i] + weight[i % period];
  } else {
    auto dy = a.gradient<const T>(kY);
    auto dweight = a.gradient<T>(kWeight);
    std::ranges::fill(dweight, T{0});
    for (std::int64_t i = 0; i < a.shape(kX).elements(); ++i) dweight[i % period] += dy[i];
  }
}

}  // namespace position_reference

void run_reference(const Position&, const Arguments& a) {
  using namespace position_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(a); });
}

}  // namespace troika
