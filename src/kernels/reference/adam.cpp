#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/step_values.h"

namespace troika {
namespace adam_reference {

enum Slots { kWeight, kScalars, kControl, kFirstMoment, kSecondMoment };

template <class T>
void run(const Adam& op, const Arguments& a) {
  StepValues step(a.value<const double>(kScalars), a.value<const double>(kControl));
  if (!step.ok()) return;
  double rate = step.learning_rate() * op.rate_factor;
  double correction1 = 1 - std::pow(op.beta1, step.update_step()),
         correction2 = 1 - std::pow(op.beta2, step.update_step());
  auto w = a.value<T>(kWeight), m = a.value<T>(kFirstMoment), v = a.value<T>(kSecondMoment);
  auto gradient = a.gradient<const T>(kWeight);
  for (std::size_t i = 0; i < w.size(); ++i) {
    double g = step.gradient_scale() * gradient[i] + (op.decoupled ? 0 : op.weight_decay * w[i]);
    // AdamW decays the weight itself, before the step and outside of the moments.
    double kept = op.decoupled ? w[i] * (1 - rate * op.weight_decay) : w[i];
    m[i] = static_cast<T>(op.beta1 * m[i] + (1 - op.beta1) * g);
    v[i] = static_cast<T>(op.beta2 * v[i] + (1 - op.beta2) * g * g);
    w[i] = static_cast<T>(kept -
                          rate / correction1 * m[i] / (std::sqrt(v[i] / correction2) + op.epsilon));
  }
}

}  // namespace adam_reference

void run_reference(const Adam& op, const Arguments& a) {
  using namespace adam_reference;
  dispatch(a.spec(kWeight).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
