#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "ops/dim_axes.h"

namespace troika {
namespace {

/// x is [outer, extent, inner], y is [outer, inner].
struct Extents {
  std::int64_t outer, extent, inner;
  float factor;
};

/// Calls f(outer, begin, end) for parts of the inner dimension, so that a mean over the first
/// dimension is divided too.
template <class F>
void for_parts(int threads, const Extents& e, const F& f) {
  constexpr std::int64_t kPart = 512;
  std::int64_t parts = (e.inner + kPart - 1) / kPart;
  for_rows(threads, e.outer * parts, e.extent * std::min(e.inner, kPart), [&](std::int64_t at) {
    std::int64_t begin = at % parts * kPart;
    f(at / parts, begin, std::min(begin + kPart, e.inner));
  });
}

Loop forward(const Extents& e) {
  return [e](const Launch& launch) {
    const float* x = launch.at(0);
    float* y = launch.at(1);
    // Contiguous elements: one sum per row. Otherwise rows of `inner` elements are added up.
    if (e.inner == 1)
      return for_rows(launch.threads, e.outer, e.extent, [=](std::int64_t row) {
        const float* from = x + row * e.extent;
        double sum =
            sum_range(0, e.extent, [from](std::int64_t i) { return static_cast<double>(from[i]); });
        y[row] = static_cast<float>(sum) * e.factor;
      });
    for_parts(launch.threads, e, [=](std::int64_t outer, std::int64_t begin, std::int64_t end) {
      const float* from = x + outer * e.extent * e.inner;
      float *to = y + outer * e.inner, factor = e.factor;
      run_range(begin, end, [=](std::int64_t i) { to[i] = from[i]; });
      for (std::int64_t at = 1; at < e.extent; ++at)
        run_range(begin, end, [=, row = from + at * e.inner](std::int64_t i) { to[i] += row[i]; });
      run_range(begin, end, [=](std::int64_t i) { to[i] *= factor; });
    });
  };
}

Loop backward(const Extents& e) {
  return [e](const Launch& launch) {
    const float* dy = launch.at(0);
    float* dx = launch.at(1);
    for_rows(launch.threads, e.outer * e.extent, e.inner, [=](std::int64_t row) {
      const float* from = dy + row / e.extent * e.inner;
      float *to = dx + row * e.inner, factor = e.factor;
      run_range(0, e.inner, [=](std::int64_t i) { to[i] = from[i] * factor; });
    });
  };
}

}  // namespace

Offers offers(const Mean& op, const Request& request) {
  const TensorSpec& x = request.key.inputs[0];
  std::size_t dim = require_dim("mean", op.dim, x);
  Extents e{x.shape.product(0, dim), x.shape[dim], x.shape.product(dim + 1, x.shape.rank()), 0};
  e.factor = 1.0f / static_cast<float>(op.count != 0 ? op.count : e.extent);
  Candidate candidate{.algorithm = "loop", .layouts = {Layout::plain, Layout::plain}};
  return {offer_loop(request, candidate,
                     request.key.phase == Phase::forward ? forward(e) : backward(e))};
}

}  // namespace troika
