// The formula and the paper are in ops/lars.h.
#include <cmath>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/update_step.h"

namespace troika {
namespace {

SquareSums lars_square_sums(const Launch& launch, std::int64_t count) {
  const float *w = launch.at(kWeightOperand), *gradient = launch.at(kGradientOperand);
  double scale = step_of(launch).gradient_scale();
  auto square = [](const float* x) {
    return [x](std::int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); };
  };
  return {
      sum_elements(launch.threads, count, launch.work<double>(), square(w)),
      scale * scale * sum_elements(launch.threads, count, launch.work<double>(), square(gradient))};
}

void update(const Lars& op, const Launch& launch, std::int64_t count, SquareSums sums) {
  StepValues step = step_of(launch);
  double w_norm = std::sqrt(sums.first), g_norm = std::sqrt(sums.second);
  double local =
      w_norm > 0 && g_norm > 0 ? op.trust * w_norm / (g_norm + op.weight_decay * w_norm) : 1;
  auto rate = static_cast<float>(step.learning_rate() * op.rate_factor * local);
  auto scale = static_cast<float>(step.gradient_scale()),
       decay = static_cast<float>(op.weight_decay);
  auto momentum = static_cast<float>(op.momentum);
  float *w = launch.at(kWeightOperand), *v = launch.at(kStateOperands);
  const float* gradient = launch.at(kGradientOperand);
  for_elements(launch.threads, count, [=](std::int64_t i) {
    float moved = momentum * v[i] + rate * (scale * gradient[i] + decay * w[i]);
    v[i] = moved;
    w[i] -= moved;
  });
}

}  // namespace

Offers offers(const Lars& op, const Request& request) {
  return normed_update_offers(
      request, {lars_square_sums, [op](const Launch& launch, std::int64_t count, SquareSums sums) {
                  update(op, launch, count, sums);
                }});
}

}  // namespace troika
