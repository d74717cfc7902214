#include <algorithm>
#include <numeric>

#include "kernels/reference/reference.h"

namespace troika {
namespace global_pool_reference {

enum Slots { kX, kY };

template <class T>
void forward(const GlobalPool& op, const Arguments& a) {
  auto x = a.value<const T>(kX);
  auto y = a.value<T>(kY);
  std::size_t area = x.size() / y.size();
  for (std::size_t at = 0; at < y.size(); ++at) {
    auto plane = x.subspan(at * area, area);
    y[at] = op.kind == PoolKind::max
                ? *std::ranges::max_element(plane)
                : std::accumulate(plane.begin(), plane.end(), T{0}) / static_cast<T>(area);
  }
}

template <class T>
void backward(const GlobalPool& op, const Arguments& a) {
  auto dy = a.gradient<const T>(kY);
  auto dx = a.gradient<T>(kX);
  std::size_t area = dx.size() / dy.size();
  for (std::size_t at = 0; at < dy.size(); ++at) {
    auto plane = dx.subspan(at * area, area);
    if (op.kind == PoolKind::max) {
      auto x = a.value<const T>(kX).subspan(at * area, area);
      std::ranges::fill(plane, T{0});
      // max_element returns the first of equal elements, as in pool2d.
      plane[static_cast<std::size_t>(std::ranges::max_element(x) - x.begin())] = dy[at];
    } else {
      std::ranges::fill(plane, dy[at] / static_cast<T>(area));
    }
  }
}

}  // namespace global_pool_reference

void run_reference(const GlobalPool& op, const Arguments& a) {
  using namespace global_pool_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() {
    a.phase() == Phase::forward ? forward<T>(op, a) : backward<T>(op, a);
  });
}

}  // namespace troika
