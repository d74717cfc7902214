#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/step_values.h"

namespace troika {
namespace lars_reference {

enum Slots { kWeight, kScalars, kControl, kMomentum, kSquareSums };

/// square_sums are |w|^2 and |g|^2, of the whole parameter or of one slice.
template <class T>
struct LarsRun {
  const Lars& op;
  const Arguments& a;
  StepValues step{a.value<const double>(kScalars), a.value<const double>(kControl)};
  std::span<const T> gradient = a.gradient<const T>(kWeight);

  void square_sums(std::span<double, 2> sums) const {
    sums[0] = sums[1] = 0;
    auto w = a.value<const T>(kWeight);
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = step.gradient_scale() * gradient[i];
      sums[0] += static_cast<double>(w[i]) * w[i];
      sums[1] += g * g;
    }
  }

  void update(std::span<const double, 2> sums) const {
    double w_norm = std::sqrt(sums[0]), g_norm = std::sqrt(sums[1]);
    double local =
        w_norm > 0 && g_norm > 0 ? op.trust * w_norm / (g_norm + op.weight_decay * w_norm) : 1;
    double rate = step.learning_rate() * op.rate_factor * local;
    auto w = a.value<T>(kWeight), v = a.value<T>(kMomentum);
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = step.gradient_scale() * gradient[i] + op.weight_decay * w[i];
      v[i] = static_cast<T>(op.momentum * v[i] + rate * g);
      w[i] -= v[i];
    }
  }
};

}  // namespace lars_reference

void run_reference(const Lars& op, const Arguments& a) {
  using namespace lars_reference;
  dispatch(a.spec(kWeight).dtype, [&]<class T>() {
    LarsRun<T> run{op, a};
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
