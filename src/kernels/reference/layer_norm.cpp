#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace troika {
namespace layer_norm_reference {

enum Slots { kX, kGamma, kBeta, kY, kMean, kInvStd };

/// Two passes over a row, first the mean and then the squares around it: the one-pass formula loses
/// precision if the mean is large.
template <class T>
void forward(const LayerNorm& op, const Arguments& a) {
  std::int64_t width = a.shape(kX).back(), rows = a.shape(kMean).elements();
  auto gamma = a.value<const T>(kGamma), beta = a.value<const T>(kBeta);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto x = a.value<const T>(kX).subspan(row * width, width);
    auto y = a.value<T>(kY).subspan(row * width, width);
    double sum = 0, squares = 0;
    for (T element : x) sum += element;
    double mean = sum / static_cast<double>(width);
    for (T element : x) squares += (element - mean) * (element - mean);
    double inv_std = 1 / std::sqrt(squares / static_cast<double>(width) + op.epsilon);
    for (std::int64_t i = 0; i < width; ++i)
      y[i] = static_cast<T>(gamma[i] * ((x[i] - mean) * inv_std) + beta[i]);
    a.value<T>(kMean)[row] = static_cast<T>(mean);
    a.value<T>(kInvStd)[row] = static_cast<T>(inv_std);
  }
}

/// With n = (x - mean) * inv_std and g = dy * gamma: dx = inv_std * (g - mean(g) - n * mean(g *
/// n)).
template <class T>
void backward(const Arguments& a) {
  std::int64_t width = a.shape(kX).back(), rows = a.shape(kMean).elements();
  auto gamma = a.value<const T>(kGamma);
  auto dgamma = a.gradient<T>(kGamma), dbeta = a.gradient<T>(kBeta);
  std::ranges::fill(dgamma, T{0});
  std::ranges::fill(dbeta, T{0});
  for (std::int64_t row = 0; row < rows; ++row) {
    auto x = a.value<const T>(kX).subspan(row * width, width),
         dy = a.gradient<const T>(kY).subspan(row * width, width);
    auto dx = a.gradient<T>(kX).subspan(row * width, width);
    double mean = a.value<const T>(kMean)[row], inv_std = a.value<const T>(kInvStd)[row], sum = 0,
           sum_x = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      double normal = (x[i] - mean) * inv_std;
      sum += dy[i] * gamma[i];
      sum_x += dy[i] * gamma[i] * normal;
      dgamma[i] += static_cast<T>(dy[i] * normal);
      dbeta[i] += dy[i];
    }
    for (std::int64_t i = 0; i < width; ++i) {
      // dx as in batch norm, with the mean over a row and gamma inside it.
      double shift = (sum + (x[i] - mean) * inv_std * sum_x) / static_cast<double>(width);
      dx[i] = static_cast<T>(inv_std * (dy[i] * gamma[i] - shift));
    }
  }
}

}  // namespace layer_norm_reference

void run_reference(const LayerNorm& op, const Arguments& a) {
  using namespace layer_norm_reference;
  dispatch(a.spec(kX).dtype,
           [&]<class T>() { a.phase() == Phase::forward ? forward<T>(op, a) : backward<T>(a); });
}

}  // namespace troika
