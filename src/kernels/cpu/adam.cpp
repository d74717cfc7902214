// The formula and the papers are in ops/adam.h.
#include <cmath>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/update_step.h"

namespace troika {
namespace {

Loop update(const Adam& op, std::int64_t count) {
  return [=](const Launch& launch) {
    StepValues step = step_of(launch);
    if (!step.ok()) return;
    double rate = step.learning_rate() * op.rate_factor;
    auto scale = static_cast<float>(step.gradient_scale());
    auto decay = static_cast<float>(op.decoupled ? 0 : op.weight_decay);
    auto keep = static_cast<float>(op.decoupled ? 1 - rate * op.weight_decay : 1);
    // Both corrections of the bias are taken out of the loop, and the first is merged into the
    // rate.
    auto rate1 = static_cast<float>(rate / (1 - std::pow(op.beta1, step.update_step())));
    auto correction2 = static_cast<float>(1 / (1 - std::pow(op.beta2, step.update_step())));
    auto beta1 = static_cast<float>(op.beta1), beta2 = static_cast<float>(op.beta2);
    auto rest1 = static_cast<float>(1 - op.beta1), rest2 = static_cast<float>(1 - op.beta2);
    auto epsilon = static_cast<float>(op.epsilon);
    float *w = launch.at(kWeightOperand), *m = launch.at(kStateOperands),
          *v = launch.at(kStateOperands + 1);
    const float* gradient = launch.at(kGradientOperand);
    for_elements(launch.threads, count, [=](std::int64_t i) {
      float g = scale * gradient[i] + decay * w[i];
      float first = beta1 * m[i] + rest1 * g, second = beta2 * v[i] + rest2 * g * g;
      m[i] = first;
      v[i] = second;
      w[i] = keep * w[i] - rate1 * first / (__builtin_sqrtf(second * correction2) + epsilon);
    });
  };
}

}  // namespace

Offers offers(const Adam& op, const Request& request) {
  return {offer_flat(request, {}, [op](std::int64_t count) { return update(op, count); })};
}

}  // namespace troika
