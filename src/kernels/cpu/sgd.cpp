// The formulas and the papers are in ops/sgd.h. Without momentum there is no state.
#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/cpu/update_step.h"

namespace troika {
namespace {

Loop plain_sgd(const Sgd& op, std::int64_t count) {
  return [=](const Launch& launch) {
    StepValues step = step_of(launch);
    if (!step.ok()) return;
    auto rate = static_cast<float>(step.learning_rate() * op.rate_factor);
    auto scale = static_cast<float>(step.gradient_scale()),
         decay = static_cast<float>(op.weight_decay);
    float* w = launch.at(kWeightOperand);
    const float* gradient = launch.at(kGradientOperand);
    for_elements(launch.threads, count,
                 [=](std::int64_t i) { w[i] -= rate * (scale * gradient[i] + decay * w[i]); });
  };
}

Loop momentum_sgd(const Sgd& op, std::int64_t count) {
  return [=](const Launch& launch) {
    StepValues step = step_of(launch);
    if (!step.ok()) return;
    auto rate = static_cast<float>(step.learning_rate() * op.rate_factor);
    auto scale = static_cast<float>(step.gradient_scale()),
         decay = static_cast<float>(op.weight_decay);
    auto momentum = static_cast<float>(op.momentum);
    float *w = launch.at(kWeightOperand), *v = launch.at(kStateOperands);
    const float* gradient = launch.at(kGradientOperand);
    bool nesterov = op.nesterov;
    for_elements(launch.threads, count, [=](std::int64_t i) {
      float g = scale * gradient[i] + decay * w[i];
      float moved = momentum * v[i] + g;
      v[i] = moved;
      w[i] -= rate * (nesterov ? g + momentum * moved : moved);
    });
  };
}

}  // namespace

Offers offers(const Sgd& op, const Request& request) {
  return {offer_flat(request, {}, [op](std::int64_t count) {
    return op.momentum != 0 ? momentum_sgd(op, count) : plain_sgd(op, count);
  })};
}

}  // namespace troika
