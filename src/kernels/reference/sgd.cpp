#include "kernels/reference/reference.h"
#include "kernels/step_values.h"

namespace troika {
namespace sgd_reference {

enum Slots { kWeight, kScalars, kControl, kMomentum };

template <class T>
void run(const Sgd& op, const Arguments& a) {
  StepValues step(a.value<const double>(kScalars), a.value<const double>(kControl));
  // A step that was not finite leaves weights and states as they are.
  if (!step.ok()) return;
  double rate = step.learning_rate() * op.rate_factor;
  auto w = a.value<T>(kWeight);
  auto gradient = a.gradient<const T>(kWeight);
  for (std::size_t i = 0; i < w.size(); ++i) {
    double g = step.gradient_scale() * gradient[i] + op.weight_decay * w[i];
    if (op.momentum != 0) {
      T& v = a.value<T>(kMomentum)[i];
      v = static_cast<T>(op.momentum * v + g);
      g = op.nesterov ? g + op.momentum * v : v;
    }
    w[i] = static_cast<T>(w[i] - rate * g);
  }
}

}  // namespace sgd_reference

void run_reference(const Sgd& op, const Arguments& a) {
  using namespace sgd_reference;
  dispatch(a.spec(kWeight).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
