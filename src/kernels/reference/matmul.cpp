#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {
namespace matmul_reference {

enum Slots { kA, kB, kC };

/// Calls visit(at a, at b, at c) with element numbers, for each product.
void for_each_product(const Matmul& op, const Arguments& arguments, auto&& visit) {
  const Shape &a = arguments.shape(kA), &c = arguments.shape(kC);
  std::size_t last = c.rank() - 1;
  std::int64_t rows = c[last - 1], columns = c[last], inner = a[op.transpose_a ? last - 1 : last];
  for (std::int64_t batch = 0; batch < c.product(0, last - 1); ++batch)
    for (std::int64_t m = 0; m < rows; ++m)
      for (std::int64_t n = 0; n < columns; ++n)
        for (std::int64_t k = 0; k < inner; ++k)
          // A transposed matrix has its two last dimensions exchanged in memory.
          visit(batch * rows * inner + (op.transpose_a ? k * rows + m : m * inner + k),
                batch * inner * columns + (op.transpose_b ? n * inner + k : k * columns + n),
                (batch * rows + m) * columns + n);
}

template <class T>
void run(const Matmul& op, const Arguments& arguments) {
  auto add_up = [&](std::span<T> sums, auto&& add) {
    std::ranges::fill(sums, T{0});
    for_each_product(op, arguments, add);
  };
  if (arguments.phase() == Phase::forward) {
    auto a = arguments.value<const T>(kA), b = arguments.value<const T>(kB);
    auto c = arguments.value<T>(kC);
    add_up(c, [&](auto at_a, auto at_b, auto at_c) { c[at_c] += a[at_a] * b[at_b]; });
  } else if (arguments.phase() == Phase::backward_data) {
    auto dc = arguments.gradient<const T>(kC), b = arguments.value<const T>(kB);
    auto da = arguments.gradient<T>(kA);
    add_up(da, [&](auto at_a, auto at_b, auto at_c) { da[at_a] += dc[at_c] * b[at_b]; });
  } else {
    auto a = arguments.value<const T>(kA), dc = arguments.gradient<const T>(kC);
    auto db = arguments.gradient<T>(kB);
    add_up(db, [&](auto at_a, auto at_b, auto at_c) { db[at_b] += a[at_a] * dc[at_c]; });
  }
}

}  // namespace matmul_reference

void run_reference(const Matmul& op, const Arguments& a) {
  using namespace matmul_reference;
  dispatch(a.spec(kA).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
