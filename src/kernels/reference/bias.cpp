#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace bias_reference {

enum Slots { kX, kBias, kY };

template <class T>
void run(const Bias& op, const Arguments& a) {
  const Shape& shape = a.shape(kY);
  std::size_t dim = static_cast<std::size_t>(
      op.dim < 0 ? op.dim + static_cast<std::int64_t>(shape.rank()) : op.dim);
  std::int64_t inner = shape.product(dim + 1, shape.rank()), channels = shape[dim];
  // Row-major: `inner` elements per channel, then the next channel.
  auto channel = [&](std::int64_t element) {
    return static_cast<std::size_t>(element / inner % channels);
  };
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX), bias = a.value<const T>(kBias);
    auto y = a.value<T>(kY);
    for (std::int64_t i = 0; i < shape.elements(); ++i) y[i] = x[i] + bias[channel(i)];
  } else {
    auto dy = a.gradient<const T>(kY);
    auto dbias = a.gradient<T>(kBias);
    std::ranges::fill(dbias, T{0});
    for (std::int64_t i = 0; i < shape.elements(); ++i) dbias[channel(i)] += dy[i];
  }
}

}  // namespace bias_reference

void run_reference(const Bias& op, const Arguments& a) {
  using namespace bias_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
