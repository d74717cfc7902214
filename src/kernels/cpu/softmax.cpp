#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

// Exponentials relative to the largest element cannot overflow; the sum is in f64, because rows may
// have many thousand elements.
Loop softmax_forward(std::int64_t rows, std::int64_t width) {
  return [=](const Launch& launch) {
    for_rows(launch.threads, rows, 4 * width, [&](std::int64_t row) {
      const float* x = launch.at(0) + row * width;
      float* y = launch.at(1) + row * width;
      float largest = max_range(0, width, [x](std::int64_t i) { return x[i]; });
      run_range(0, width, [=](std::int64_t i) { y[i] = vector_exp(x[i] - largest); });
      double sum = sum_range(0, width, [y](std::int64_t i) { return static_cast<double>(y[i]); });
      auto factor = static_cast<float>(1 / sum);
      run_range(0, width, [=](std::int64_t i) { y[i] *= factor; });
    });
  };
}

/// dx = y * (dy - sum of y * dy)
Loop softmax_backward(std::int64_t rows, std::int64_t width) {
  return [=](const Launch& launch) {
    for_rows(launch.threads, rows, 2 * width, [&](std::int64_t row) {
      const float *dy = launch.at(0) + row * width, *y = launch.at(1) + row * width;
      float* dx = launch.at(2) + row * width;
      auto dot = static_cast<float>(sum_range(0, width, [=](std::int64_t i) {
        return static_cast<double>(y[i]) * static_cast<double>(dy[i]);
      }));
      run_range(0, width, [=](std::int64_t i) { dx[i] = y[i] * (dy[i] - dot); });
    });
  };
}

}  // namespace

Offers offers(const Softmax&, const Request& request) {
  const Shape& x = request.shape(0);
  std::int64_t width = x.back(), rows = x.elements() / width;
  bool is_forward = request.key.phase == Phase::forward;
  Candidate candidate{.algorithm = "loop",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  candidate.in_place =
      is_forward ? std::vector<InPlace>{{1, 0}} : std::vector<InPlace>{{2, 0}, {2, 1}};
  return {offer_loop(request, candidate,
                     is_forward ? softmax_forward(rows, width) : softmax_backward(rows, width))};
}

}  // namespace troika
