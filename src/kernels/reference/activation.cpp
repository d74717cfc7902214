#include <cmath>
#include <numbers>

#include "kernels/reference/reference.h"

namespace troika {
namespace activation_reference {

enum Slots { kX, kY };

// The tanh form of gelu: Hendrycks and Gimpel 2016, arXiv:1606.08415.
constexpr double kTanhFactor = 0.7978845608028654;  // sqrt(2/pi)
constexpr double kTanhCubic = 0.044715;

double forward(const Activation& op, double x) {
  switch (op.kind) {
    case ActivationKind::relu:
      return x > 0 ? x : 0;
    case ActivationKind::leaky_relu:
      return x > 0 ? x : op.slope * x;
    case ActivationKind::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case ActivationKind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(kTanhFactor * (x + kTanhCubic * x * x * x)));
    case ActivationKind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::tanh:
      return std::tanh(x);
  }
  return 0;
}

/// The derivative at the kept value: the output where backward_reads_output, else the input.
double derivative(const Activation& op, double kept) {
  switch (op.kind) {
    // The derivative at 0 is 0, and y > 0 exactly where x > 0.
    case ActivationKind::relu:
      return kept > 0 ? 1 : 0;
    case ActivationKind::leaky_relu:
      // The output has the sign of the input as long as the slope is positive.
      return kept > 0 ? 1 : op.slope;
    case ActivationKind::gelu:
      return 0.5 * (1 + std::erf(kept / std::numbers::sqrt2)) +
             kept * std::exp(-0.5 * kept * kept) * 0.3989422804014327;  // 1/sqrt(2 pi)
    case ActivationKind::gelu_tanh: {
      double t = std::tanh(kTanhFactor * (kept + kTanhCubic * kept * kept * kept));
      return 0.5 * (1 + t) +
             0.5 * kept * (1 - t * t) * kTanhFactor * (1 + 3 * kTanhCubic * kept * kept);
    }
    case ActivationKind::sigmoid:
      return kept * (1 - kept);
    case ActivationKind::tanh:
      return 1 - kept * kept;
  }
  return 0;
}

template <class T>
void run(const Activation& op, const Arguments& a) {
  std::int64_t count = a.shape(kX).elements();
  if (a.phase() == Phase::forward) {
    auto x = a.value<const T>(kX);
    auto y = a.value<T>(kY);
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(forward(op, x[i]));
  } else {
    auto dy = a.gradient<const T>(kY),
         kept = a.value<const T>(backward_reads_output(op.kind) ? kY : kX);
    auto dx = a.gradient<T>(kX);
    for (std::int64_t i = 0; i < count; ++i)
      dx[i] = static_cast<T>(dy[i] * derivative(op, kept[i]));
  }
}

}  // namespace activation_reference

void run_reference(const Activation& op, const Arguments& a) {
  using namespace activation_reference;
  dispatch(a.spec(kX).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
