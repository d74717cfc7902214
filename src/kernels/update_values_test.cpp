// Tests that update rules follow their papers and that a bad step changes nothing, which tile tests
// cannot show.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/step_scalars.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

constexpr double kRate = 0.1, kScale = 0.5;  // As OpTrial sets scalars and control.
enum Slots { kWeight, kScalars, kControl, kFirstState, kSecondState };

struct UpdateTrial : OpTrial {
  explicit UpdateTrial(const Op& rule) : OpTrial({"case", rule, {f64({2})}, {}}, 5) {
    for (std::size_t slot = kFirstState; slot < values.size(); ++slot)
      values[slot] = HostTensor(values[slot].spec);
    set({3, -4}, {2, 6});
  }
  void set(std::array<double, 2> weight, std::array<double, 2> raw_gradient) {
    for (std::size_t i = 0; i < 2; ++i) {
      values[kWeight].as<double>()[i] = weight[i];
      gradients[kWeight].as<double>()[i] = raw_gradient[i];
    }
  }
  void set_step(double step) {
    values[kScalars].set(static_cast<std::int64_t>(Scalar::update_step), step);
  }
  double weight(std::int64_t i) const { return values[kWeight].get(i); }
  void update() { run(Phase::update, *make_reference_backend()); }
};

TEST(AdamValues, FirstStepMovesByTheRateAgainstTheSign) {
  UpdateTrial trial(Adam{.epsilon = 0});
  trial.set_step(1);
  trial.update();
  EXPECT_NEAR(trial.weight(0), 3 - kRate, 1e-14);
  EXPECT_NEAR(trial.weight(1), -4 - kRate, 1e-14);
}

TEST(AdamValues, DecayIsInTheGradientUnlessDecoupled) {
  // With no memory (betas 0) the step is rate * g / |g|, so only a decoupled decay shows.
  for (bool decoupled : {false, true}) {
    UpdateTrial trial(
        Adam{.beta1 = 0, .beta2 = 0, .epsilon = 0, .weight_decay = 0.2, .decoupled = decoupled});
    trial.update();
    EXPECT_NEAR(trial.weight(0), 3 * (decoupled ? 1 - kRate * 0.2 : 1) - kRate, 1e-14);
  }
}

TEST(AdamValues, SecondStepMatchesTheFormula) {
  UpdateTrial trial(Adam{.beta1 = 0.8, .beta2 = 0.9, .epsilon = 0.01});
  for (double step : {1, 2}) {
    trial.set_step(step);
    trial.update();
  }
  // The gradient is 1 twice: both moments, corrected, are 1.
  EXPECT_NEAR(trial.weight(0), 3 - 2 * kRate / 1.01, 1e-14);
}

TEST(LarsValues, TheLocalRateIsTheTrustRatio) {
  UpdateTrial trial(Lars{.momentum = 0.5, .weight_decay = 0.1, .trust = 0.01});
  double local = 0.01 * 5 / (std::sqrt(1.0 + 9.0) + 0.1 * 5),
         first = kRate * local * (kScale * 2 + 0.1 * 3);
  trial.update();
  EXPECT_NEAR(trial.weight(0), 3 - first, 1e-14);
  trial.set({0, 0}, {2, 6});  // A zero parameter has no norm to trust: the plain rate.
  trial.update();
  EXPECT_NEAR(trial.weight(0), -(0.5 * first + kRate * kScale * 2), 1e-14);
}

TEST(LambValues, AStepIsAsLongAsTheRateTimesTheParameter) {
  UpdateTrial trial(Lamb{.weight_decay = 0.3});
  trial.update();
  double moved = std::hypot(trial.weight(0) - 3, trial.weight(1) + 4);
  EXPECT_NEAR(moved, kRate * 5, 1e-14);
  // Its direction is Adam's plus the decay: both signs of g are +, so u = (s + 0.9, s - 1.2) with
  // one s > 0.
  double u0 = (3 - trial.weight(0)), u1 = (-4 - trial.weight(1));
  double b1 = (1 - 0.9) / (1 - std::pow(0.9, 3)), b2 = (1 - 0.999) / (1 - std::pow(0.999, 3));
  double s = b1 / std::sqrt(b2);
  EXPECT_NEAR(u0 / u1, (s + 0.9) / (s - 1.2), 1e-4);
}

TEST(UpdateRules, ABadStepMovesNothing) {
  for (const OpCase& row : op_cases()) {
    if (signature(row.op, row.inputs).slots[0].role != Role::weight) continue;
    OpTrial trial(row, 5);
    trial.values[kControl].set(static_cast<std::int64_t>(Control::ok), 0);
    OpTrial before = trial;
    trial.run(Phase::update, *make_reference_backend());
    for (std::size_t slot = 0; slot < trial.values.size(); ++slot)
      EXPECT_EQ(trial.values[slot].bytes, before.values[slot].bytes)
          << row.name << " slot " << slot;
  }
}

}  // namespace
}  // namespace troika
