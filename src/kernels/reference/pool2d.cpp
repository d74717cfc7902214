#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace pool2d_reference {

enum Slots { kX, kY };

/// The part of one plane [h,w] that one position of the window covers.
struct Seen {
  Range rows, columns;
  std::int64_t width;

  std::int64_t count() const { return rows.extent() * columns.extent(); }
  void for_each(auto&& visit) const {
    for (std::int64_t h = rows.begin; h < rows.end; ++h)
      for (std::int64_t w = columns.begin; w < columns.end; ++w) visit(h * width + w);
  }
};

/// Calls visit(plane offset into x, covered part of it, element of y).
void for_each_window(const Pool2d& op, const Arguments& a, auto&& visit) {
  const Shape &x = a.shape(kX), &y = a.shape(kY);
  auto seen = [&](std::size_t dim, std::int64_t window_at) {
    std::int64_t begin = window_at * op.stride[dim] - op.pad[dim];
    return intersect(Range{begin, begin + op.window[dim]}, Range{0, x[2 + dim]});
  };
  std::int64_t at_y = 0;
  for (std::int64_t plane = 0; plane < x[0] * x[1]; ++plane)
    for (std::int64_t h = 0; h < y[2]; ++h)
      for (std::int64_t w = 0; w < y[3]; ++w)
        visit(plane * x[2] * x[3], Seen{seen(0, h), seen(1, w), x[3]}, at_y++);
}

/// Index in the plane of the first largest element in row-major order. Forward and backward both
/// search for it, so that they agree without saved indices.
template <class T>
std::int64_t first_largest(std::span<const T> plane, const Seen& seen) {
  std::int64_t largest = seen.rows.begin * seen.width + seen.columns.begin;
  seen.for_each([&](std::int64_t at) {
    // Strictly larger: of equal elements the first one gets the gradient.
    if (plane[at] > plane[largest]) largest = at;
  });
  return largest;
}

template <class T>
void run_max(const Pool2d& op, const Arguments& a) {
  auto x = a.value<const T>(kX);
  if (a.phase() == Phase::forward) {
    auto y = a.value<T>(kY);
    for_each_window(op, a, [&](std::int64_t offset, const Seen& seen, std::int64_t at_y) {
      y[at_y] = x[offset + first_largest(x.subspan(offset), seen)];
    });
  } else {
    auto dx = a.gradient<T>(kX);
    auto dy = a.gradient<const T>(kY);
    std::ranges::fill(dx, T{0});
    for_each_window(op, a, [&](std::int64_t offset, const Seen& seen, std::int64_t at_y) {
      // Windows may overlap and choose the same element, so gradients are added.
      dx[offset + first_largest(x.subspan(offset), seen)] += dy[at_y];
    });
  }
}

template <class T>
void run_average(const Pool2d& op, const Arguments& a) {
  auto divisor = [&](const Seen& seen) {
    return static_cast<T>(op.include_padding ? op.window[0] * op.window[1] : seen.count());
  };
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX);
    auto y = a.value<T>(kY);
    for_each_window(op, a, [&](std::int64_t offset, const Seen& seen, std::int64_t at_y) {
      T sum = 0;
      seen.for_each([&](std::int64_t at) { sum += x[offset + at]; });
      y[at_y] = sum / divisor(seen);
    });
  } else {
    auto dx = a.gradient<T>(kX);
    auto dy = a.gradient<const T>(kY);
    std::ranges::fill(dx, T{0});
    for_each_window(op, a, [&](std::int64_t offset, const Seen& seen, std::int64_t at_y) {
      seen.for_each([&](std::int64_t at) { dx[offset + at] += dy[at_y] / divisor(seen); });
    });
  }
}

}  // namespace pool2d_reference

void run_reference(const Pool2d& op, const Arguments& a) {
  using namespace pool2d_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() {
    op.kind == PoolKind::max ? run_max<T>(op, a) : run_average<T>(op, a);
  });
}

}  // namespace troika
