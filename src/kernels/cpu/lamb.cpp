// The formula and the paper are in ops/lamb.h. The direction is computed twice, for its norm and
// for the update: that is cheaper than storing it.
#include <cmath>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/update_step.h"
#include "kernels/cpu/vector_math.h"

namespace troika {
namespace {

/// The scalars of one step and the rule for one element.
struct Direction {
  float scale, beta1, beta2, rest1, rest2, correction1, correction2, epsilon, decay;

  Direction(const Lamb& op, const StepValues& step)
      : scale(static_cast<float>(step.gradient_scale())),
        beta1(static_cast<float>(op.beta1)),
        beta2(static_cast<float>(op.beta2)),
        rest1(static_cast<float>(1 - op.beta1)),
        rest2(static_cast<float>(1 - op.beta2)),
        correction1(static_cast<float>(1 / (1 - std::pow(op.beta1, step.update_step())))),
        correction2(static_cast<float>(1 / (1 - std::pow(op.beta2, step.update_step())))),
        epsilon(static_cast<float>(op.epsilon)),
        decay(static_cast<float>(op.weight_decay)) {}

  TROIKA_INLINE float first(float gradient, float m) const {
    return beta1 * m + rest1 * (scale * gradient);
  }
  TROIKA_INLINE float second(float gradient, float v) const {
    return beta2 * v + rest2 * (scale * gradient) * (scale * gradient);
  }
  TROIKA_INLINE float of(float m, float v, float w) const {
    return m * correction1 / (__builtin_sqrtf(v * correction2) + epsilon) + decay * w;
  }
};

SquareSums lamb_square_sums(const Lamb& op, const Launch& launch, std::int64_t count) {
  Direction direction(op, step_of(launch));
  const float *w = launch.at(kWeightOperand), *gradient = launch.at(kGradientOperand);
  const float *m = launch.at(kStateOperands), *v = launch.at(kStateOperands + 1);
  double* work = launch.work<double>();
  return {sum_elements(launch.threads, count, work,
                       [w](std::int64_t i) {
                         return static_cast<double>(w[i]) * static_cast<double>(w[i]);
                       }),
          sum_elements(launch.threads, count, work, [=](std::int64_t i) {
            auto u = static_cast<double>(direction.of(direction.first(gradient[i], m[i]),
                                                      direction.second(gradient[i], v[i]), w[i]));
            return u * u;
          })};
}

void update(const Lamb& op, const Launch& launch, std::int64_t count, SquareSums sums) {
  StepValues step = step_of(launch);
  Direction direction(op, step);
  double ratio = sums.first > 0 && sums.second > 0 ? std::sqrt(sums.first / sums.second) : 1;
  auto rate = static_cast<float>(step.learning_rate() * op.rate_factor * ratio);
  float *w = launch.at(kWeightOperand), *m = launch.at(kStateOperands),
        *v = launch.at(kStateOperands + 1);
  const float* gradient = launch.at(kGradientOperand);
  for_elements(launch.threads, count, [=](std::int64_t i) {
    float first = direction.first(gradient[i], m[i]), second = direction.second(gradient[i], v[i]);
    m[i] = first;
    v[i] = second;
    w[i] -= rate * direction.of(first, second, w[i]);
  });
}

}  // namespace

Offers offers(const Lamb& op, const Request& request) {
  return normed_update_offers(request,
                              {[op](const Launch& launch, std::int64_t count) {
                                 return lamb_square_sums(op, launch, count);
                               },
                               [op](const Launch& launch, std::int64_t count, SquareSums sums) {
                                 update(op, launch, count, sums);
                               }});
}

}  // namespace troika
