#include <algorithm>

#include "kernels/reference/reference.h"
#include "ops/dim_axes.h"

namespace troika {
namespace mean_reference {

enum Slots { kX, kY };

template <class T>
void run(const Mean& op, const Arguments& a) {
  const Shape& x_shape = a.shape(kX);
  std::size_t dim = require_dim("mean", op.dim, a.spec(kX));
  std::int64_t extent = x_shape[dim], inner = x_shape.product(dim + 1, x_shape.rank());
  T factor = T{1} / static_cast<T>(op.count != 0 ? op.count : extent);
  // x is [outer, extent, inner] and y [outer, inner], both row-major.
  auto in_y = [&](std::int64_t i) { return i / (inner * extent) * inner + i % inner; };
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX);
    auto y = a.value<T>(kY);
    std::ranges::fill(y, T{0});
    for (std::int64_t i = 0; i < x_shape.elements(); ++i) y[in_y(i)] += x[i];
    for (T& sum : y) sum *= factor;
  } else {
    auto dy = a.gradient<const T>(kY);
    auto dx = a.gradient<T>(kX);
    for (std::int64_t i = 0; i < x_shape.elements(); ++i) dx[i] = dy[in_y(i)] * factor;
  }
}

}  // namespace mean_reference

void run_reference(const Mean& op, const Arguments& a) {
  using namespace mean_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
