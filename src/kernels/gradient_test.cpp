// Every gradient of every operator against central differences, in f64 with the reference kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

/// The function whose gradients are tested: the sum of y * dy over the outputs whose gradient
/// backward reads, or the loss.
double objective(OpTrial& trial, const Backend& backend) {
  trial.run(Phase::forward, backend);
  double sum = 0;
  bool reads_output_gradient = false;
  for (int slot : trial.signature.slots_of(Role::output)) {
    Use gradient = read_grad(slot);
    bool used = false;
    for (const PhaseSpec& phase : trial.signature.phases) {
      for (const Use& use : phase.uses) used |= is_backward(phase.phase) && use == gradient;
    }
    reads_output_gradient |= used;
    const HostTensor &y = trial.tensor(read(slot)), &dy = trial.tensor(gradient);
    for (std::int64_t i = 0; used && i < y.spec.shape.elements(); ++i) sum += y.get(i) * dy.get(i);
  }
  if (reads_output_gradient) return sum;
  return trial.tensor(read(trial.signature.slots_of(Role::output)[0])).get(0);
}

void check_gradient(OpTrial& trial, const Backend& backend, const Use& use) {
  HostTensor analytic = trial.tensor(use);
  Use value{use.slot, Access::read, false};
  std::int64_t count = analytic.spec.shape.elements();
  for (std::int64_t i = 0; i < count; i += 1 + count / 40) {
    constexpr double kStep = 1e-5;
    double start = trial.tensor(value).get(i);
    trial.tensor(value).set(i, start + kStep);
    double above = objective(trial, backend);
    trial.tensor(value).set(i, start - kStep);
    double below = objective(trial, backend);
    trial.tensor(value).set(i, start);
    double numeric = (above - below) / (2 * kStep);
    EXPECT_NEAR(analytic.get(i), numeric, 2e-7 * std::max(1.0, std::abs(numeric)))
        << trial.name << " d" << trial.signature.slots[static_cast<std::size_t>(use.slot)].name
        << "[" << i << "]";
  }
}

TEST(ReferenceGradients, EqualCentralDifferences) {
  auto backend = make_reference_backend();
  for (const OpCase& row : op_cases()) {
    OpTrial trial(row, 7);
    for (const PhaseSpec& phase : trial.signature.phases) {
      if (phase.phase == Phase::forward || is_backward(phase.phase))
        trial.run(phase.phase, *backend);
    }
    for (const PhaseSpec& phase : trial.signature.phases) {
      if (!is_backward(phase.phase)) continue;
      for (const Use& use : phase.uses) {
        if (use.access == Access::write && use.gradient) check_gradient(trial, *backend, use);
      }
    }
  }
}

}  // namespace
}  // namespace troika
