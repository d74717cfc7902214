#include <algorithm>

#include "kernels/reference/convolve.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace conv2d_reference {

enum Slots { kX, kWeight, kY };

template <class T>
void run(const Conv2d& op, const Arguments& a) {
  WindowSweep c{a.shape(kX), a.shape(kWeight), a.shape(kY), op.stride, op.pad, op.dilation};
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX), weight = a.value<const T>(kWeight);
    auto y = a.value<T>(kY);
    std::ranges::fill(y, T{0});
    for_each_product(
        c, [&](auto at_x, auto at_weight, auto at_y) { y[at_y] += x[at_x] * weight[at_weight]; });
  } else if (a.phase() == Phase::backward_data) {
    auto dy = a.gradient<const T>(kY), weight = a.value<const T>(kWeight);
    auto dx = a.gradient<T>(kX);
    std::ranges::fill(dx, T{0});
    for_each_product(
        c, [&](auto at_x, auto at_weight, auto at_y) { dx[at_x] += dy[at_y] * weight[at_weight]; });
  } else {
    auto x = a.value<const T>(kX), dy = a.gradient<const T>(kY);
    auto dweight = a.gradient<T>(kWeight);
    std::ranges::fill(dweight, T{0});
    for_each_product(
        c, [&](auto at_x, auto at_weight, auto at_y) { dweight[at_weight] += x[at_x] * dy[at_y]; });
  }
}

}  // namespace conv2d_reference

void run_reference(const Conv2d& op, const Arguments& a) {
  using namespace conv2d_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
