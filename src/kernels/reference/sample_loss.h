// Runs a loss of floating targets from its two elementwise functions (ops/sample_loss.h).
#pragma once

#include "kernels/arguments.h"

namespace troika {

/// `loss(x, target)` and `derivative(x, target)` are those of one element.
template <class T, class Loss, class Derivative>
void run_sample_loss(const Arguments& a, Loss&& loss, Derivative&& derivative) {
  enum Slots { kX, kTarget, kWeight, kLossSum, kWeightSum };
  auto x = a.value<const T>(kX), targets = a.value<const T>(kTarget),
       weight = a.value<const T>(kWeight);
  std::size_t per_sample = x.size() / weight.size();
  auto target = [&](std::size_t i) {
    return targets[targets.size() == x.size() ? i : i / per_sample];
  };
  if (a.phase() == Phase::backward_data) {
    auto dx = a.gradient<T>(kX);
    for (std::size_t i = 0; i < x.size(); ++i) {
      T factor = weight[i / per_sample] / static_cast<T>(per_sample);
      dx[i] = factor == 0 ? T{0} : factor * derivative(x[i], target(i));
    }
    return;
  }
  double loss_sum = 0, weight_sum = 0;
  for (std::size_t n = 0; n < weight.size(); ++n) {
    double sum = 0;
    for (std::size_t i = n * per_sample; i < (n + 1) * per_sample; ++i)
      sum += loss(x[i], target(i));
    // A padded sample has weight 0 and must not bring in a NaN.
    if (weight[n] != 0) loss_sum += weight[n] * sum / static_cast<double>(per_sample);
    weight_sum += weight[n];
  }
  a.value<double>(kLossSum)[0] = loss_sum;
  a.value<double>(kWeightSum)[0] = weight_sum;
}

}  // namespace troika
