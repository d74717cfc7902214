#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/step_values.h"

namespace troika {
namespace lamb_reference {

enum Slots { kWeight, kScalars, kControl, kFirstMoment, kSecondMoment, kSquareSums };

/// square_sums are |w|^2 and |u|^2, of the whole parameter or of one slice.
template <class T>
struct LambRun {
  const Lamb& op;
  const Arguments& a;
  StepValues step{a.value<const double>(kScalars), a.value<const double>(kControl)};
  double correction1 = 1 - std::pow(op.beta1, step.update_step());
  double correction2 = 1 - std::pow(op.beta2, step.update_step());

  struct Moved {
    T first, second;   ///< The moments after this step.
    double direction;  ///< u.
  };
  /// Computed twice, for the norms and for the update, from the values before the step.
  Moved move(std::size_t i) const {
    double g = step.gradient_scale() * a.gradient<const T>(kWeight)[i];
    T m = static_cast<T>(op.beta1 * a.value<const T>(kFirstMoment)[i] + (1 - op.beta1) * g);
    T v = static_cast<T>(op.beta2 * a.value<const T>(kSecondMoment)[i] + (1 - op.beta2) * g * g);
    double u = m / correction1 / (std::sqrt(v / correction2) + op.epsilon);
    return {m, v, u + op.weight_decay * a.value<const T>(kWeight)[i]};
  }

  void square_sums(std::span<double, 2> sums) const {
    sums[0] = sums[1] = 0;
    auto w = a.value<const T>(kWeight);
    for (std::size_t i = 0; i < w.size(); ++i) {
      double u = move(i).direction;
      sums[0] += static_cast<double>(w[i]) * w[i];
      sums[1] += u * u;
    }
  }

  void update(std::span<const double, 2> sums) const {
    double ratio = sums[0] > 0 && sums[1] > 0 ? std::sqrt(sums[0] / sums[1]) : 1;
    double rate = step.learning_rate() * op.rate_factor * ratio;
    auto w = a.value<T>(kWeight);
    for (std::size_t i = 0; i < w.size(); ++i) {
      Moved moved = move(i);
      a.value<T>(kFirstMoment)[i] = moved.first;
      a.value<T>(kSecondMoment)[i] = moved.second;
      w[i] = static_cast<T>(w[i] - rate * moved.direction);
    }
  }
};

}  // namespace lamb_reference

void run_reference(const Lamb& op, const Arguments& a) {
  using namespace lamb_reference;
  dispatch(a.spec(kWeight).dtype, [&]<class T>() {
    LambRun<T> run{op, a};
    double sums[2]{};
    if (a.phase() == Phase::statistics_1)
      return run.square_sums(a.value<double>(kSquareSums).template first<2>());
    // Behind the statistics: those are combined over devices in every step, and their values do not
    // matter if the update is skipped.
    if (!run.step.ok()) return;
    if (a.phase() == Phase::apply)
      return run.update(a.value<const double>(kSquareSums).template first<2>());
    run.square_sums(sums);
    run.update(sums);
  });
}

}  // namespace troika
