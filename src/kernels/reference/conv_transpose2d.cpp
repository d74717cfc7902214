#include <algorithm>

#include "kernels/reference/convolve.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace conv_transpose2d_reference {

enum Slots { kX, kWeight, kY };

/// The transpose of a convolution from y to x: each phase is one of conv2d's three with the roles
/// of x and y exchanged. The weight [i,o,kh,kw] is then that of i outputs and o inputs.
/// y is the image here, and x has one element per position of the window.
template <class T>
void run(const ConvTranspose2d& op, const Arguments& a) {
  WindowSweep c{.image = a.shape(kY),
                .weight = a.shape(kWeight),
                .output = a.shape(kX),
                .stride = op.stride,
                .pad = op.pad};
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX), weight = a.value<const T>(kWeight);
    auto y = a.value<T>(kY);
    std::ranges::fill(y, T{0});
    for_each_product(
        c, [&](auto at_y, auto at_weight, auto at_x) { y[at_y] += x[at_x] * weight[at_weight]; });
  } else if (a.phase() == Phase::backward_data) {
    auto dy = a.gradient<const T>(kY), weight = a.value<const T>(kWeight);
    auto dx = a.gradient<T>(kX);
    std::ranges::fill(dx, T{0});
    for_each_product(
        c, [&](auto at_y, auto at_weight, auto at_x) { dx[at_x] += dy[at_y] * weight[at_weight]; });
  } else {
    auto x = a.value<const T>(kX), dy = a.gradient<const T>(kY);
    auto dweight = a.gradient<T>(kWeight);
    std::ranges::fill(dweight, T{0});
    for_each_product(
        c, [&](auto at_y, auto at_weight, auto at_x) { dweight[at_weight] += x[at_x] * dy[at_y]; });
  }
}

}  // namespace conv_transpose2d_reference

void run_reference(const ConvTranspose2d& op, const Arguments& a) {
  using namespace conv_transpose2d_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
