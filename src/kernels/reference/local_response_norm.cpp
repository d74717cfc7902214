#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace troika {
namespace local_response_norm_reference {

enum Slots { kX, kY };

template <class T>
struct LocalResponseNormRun {
  const LocalResponseNorm& op;
  const Arguments& a;
  std::int64_t channels = a.shape(kX)[1], area = a.shape(kX)[2] * a.shape(kX)[3];
  std::span<const T> x = a.value<const T>(kX);

  /// Calls visit(first): the channels of a pixel lie `area` apart, from element `first` on.
  void for_each_pixel(auto&& visit) const {
    for (std::int64_t n = 0; n < a.shape(kX)[0]; ++n)
      for (std::int64_t pixel = 0; pixel < area; ++pixel) visit(n * channels * area + pixel);
  }
  double sum_over(std::int64_t first, std::int64_t last, auto&& term) const {
    double sum = 0;
    for (std::int64_t c = std::max<std::int64_t>(first, 0); c <= std::min(last, channels - 1); ++c)
      sum += term(c);
    return sum;
  }
  double denominator(std::int64_t first, std::int64_t c) const {
    double squares = sum_over(c - op.size / 2, c + (op.size - 1) / 2, [&](std::int64_t other) {
      double value = x[first + other * area];
      return value * value;
    });
    return op.k + op.alpha / static_cast<double>(op.size) * squares;
  }

  void forward() const {
    auto y = a.value<T>(kY);
    for_each_pixel([&](std::int64_t first) {
      for (std::int64_t c = 0; c < channels; ++c)
        y[first + c * area] =
            static_cast<T>(x[first + c * area] * std::pow(denominator(first, c), -op.beta));
    });
  }

  /// x[c] counts in the denominators of channels c - (size-1)/2 to c + size/2.
  void backward() const {
    auto dy = a.gradient<const T>(kY);
    auto dx = a.gradient<T>(kX);
    // d y[j] / d x[c] = [j == c] * D[j]^-beta - 2 alpha beta / size * x[j] * x[c] * D[j]^(-beta-1),
    // with D the denominator and c in the window of j.
    double factor = 2 * op.alpha * op.beta / static_cast<double>(op.size);
    for_each_pixel([&](std::int64_t first) {
      for (std::int64_t c = 0; c < channels; ++c) {
        std::int64_t at = first + c * area;
        double through = sum_over(c - (op.size - 1) / 2, c + op.size / 2, [&](std::int64_t other) {
          std::int64_t at_other = first + other * area;
          return dy[at_other] * x[at_other] * std::pow(denominator(first, other), -op.beta - 1);
        });
        dx[at] = static_cast<T>(dy[at] * std::pow(denominator(first, c), -op.beta) -
                                factor * x[at] * through);
      }
    });
  }
};

}  // namespace local_response_norm_reference

void run_reference(const LocalResponseNorm& op, const Arguments& a) {
  using namespace local_response_norm_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() {
    LocalResponseNormRun<T> run{op, a};
    a.phase() == Phase::forward ? run.forward() : run.backward();
  });
}

}  // namespace troika
