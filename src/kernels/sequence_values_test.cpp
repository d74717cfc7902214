// Tests the values of sequence operators, dropout and losses, which gradient and tile tests cannot
// show.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

OpTrial trial_of(const Op& op, std::vector<TensorSpec> inputs) {
  return OpTrial({"case", op, std::move(inputs), {}}, 5);
}

void run(OpTrial& trial, Phase phase = Phase::forward) {
  trial.run(phase, *make_reference_backend());
}

std::span<double> value(OpTrial& trial, int slot) { return trial.tensor(read(slot)).as<double>(); }
std::span<double> gradient(OpTrial& trial, int slot) {
  return trial.tensor(read_grad(slot)).as<double>();
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(AttentionValues, AQueryThatSeesNoKeyGivesZerosAndNoGradient) {
  OpTrial trial = trial_of(Attention{.heads = 2, .has_mask = true},
                           {f64({2, 3, 4}), f64({2, 5, 4}), f64({2, 5, 4}), f64({2, 5})});
  AttentionSlots at(Attention{.heads = 2, .has_mask = true});
  for (std::size_t key = 0; key < 10; ++key) value(trial, at.mask)[key] = key < 5 ? 0 : 1;
  run(trial);
  run(trial, Phase::backward);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(value(trial, at.y)[i] == 0, i < 12) << i;
    EXPECT_EQ(gradient(trial, at.q)[i] == 0, i < 12) << i;
  }
}

TEST(AttentionValues, ACausalQueryAttendsToItselfAndWhatCameBefore) {
  OpTrial trial =
      trial_of(Attention{.causal = true}, {f64({1, 2, 1}), f64({1, 2, 1}), f64({1, 2, 1})});
  run(trial);
  auto q = value(trial, 0), k = value(trial, 1), v = value(trial, 2), y = value(trial, 3);
  EXPECT_DOUBLE_EQ(y[0], v[0]);
  double second = sigmoid(q[1] * k[1] - q[1] * k[0]);
  EXPECT_NEAR(y[1], (1 - second) * v[0] + second * v[1], 1e-14);
}

TEST(AttentionValues, PackedIsHeadMajor) {
  constexpr std::size_t kHeads = 3, kWidth = 2, kRows = 2 * 4;
  OpTrial packed = trial_of(Attention{.heads = 3, .packed = true}, {f64({2, 4, 18})});
  OpTrial apart = trial_of(Attention{.heads = 3}, {f64({2, 4, 6}), f64({2, 4, 6}), f64({2, 4, 6})});
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t head = 0; head < kHeads; ++head) {
      for (std::size_t i = 0; i < 3 * kWidth; ++i)
        value(apart, static_cast<int>(i / kWidth))[(row * kHeads + head) * kWidth + i % kWidth] =
            value(packed, 0)[(row * kHeads + head) * 3 * kWidth + i];
    }
  }
  run(packed);
  run(apart);
  EXPECT_EQ(distance(packed.values[1], apart.values[3]), 0);
}

TEST(RecurrentValues, LstmFollowsItsFormula) {
  Recurrent op{.kind = RecurrentKind::lstm, .hidden = 1, .has_state = true};
  RecurrentSlots at(op);
  OpTrial trial = trial_of(op, {f64({1, 1, 1}), f64({1, 1}), f64({1, 1})});
  run(trial);
  double gate[4];
  for (std::size_t g = 0; g < 4; ++g)
    gate[g] = value(trial, at.w_ih)[g] * value(trial, at.x)[0] +
              value(trial, at.w_hh)[g] * value(trial, at.h0)[0] + value(trial, at.bias)[g];
  double c = sigmoid(gate[1]) * value(trial, at.c0)[0] + sigmoid(gate[0]) * std::tanh(gate[2]);
  EXPECT_NEAR(value(trial, at.c_last)[0], c, 1e-14);
  EXPECT_NEAR(value(trial, at.y)[0], sigmoid(gate[3]) * std::tanh(c), 1e-14);
}

TEST(RecurrentValues, GruKeepsTheHiddenBiasInsideTheReset) {
  Recurrent op{.kind = RecurrentKind::gru, .hidden = 1, .has_state = true};
  RecurrentSlots at(op);
  OpTrial trial = trial_of(op, {f64({1, 1, 1}), f64({1, 1})});
  run(trial);
  auto w = value(trial, at.w_ih), u = value(trial, at.w_hh), b = value(trial, at.bias);
  double x = value(trial, at.x)[0], h = value(trial, at.h0)[0];
  double r = sigmoid(w[0] * x + u[0] * h + b[0]), z = sigmoid(w[1] * x + u[1] * h + b[1]);
  double n = std::tanh(w[2] * x + b[2] + r * (u[2] * h + b[3]));
  EXPECT_NEAR(value(trial, at.y)[0], (1 - z) * n + z * h, 1e-14);
}

TEST(RecurrentValues, StepsPastTheLengthGiveZerosAndKeepTheState) {
  Recurrent op{.kind = RecurrentKind::gru, .hidden = 2, .has_lengths = true};
  RecurrentSlots at(op);
  OpTrial trial = trial_of(op, {f64({1, 4, 3}), i32({1})});
  trial.tensor(read(at.lengths)).set(0, 2);
  run(trial);
  auto y = value(trial, at.y), last = value(trial, at.h_last);
  EXPECT_NE(y[2], 0);
  EXPECT_EQ(last[0], y[2]);
  EXPECT_EQ(last[1], y[3]);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(y[i], 0);
}

TEST(RecurrentValues, ReverseStartsAtTheLastValidStep) {
  Recurrent op{.kind = RecurrentKind::lstm, .hidden = 2, .has_lengths = true};
  RecurrentSlots at(op);
  OpTrial ahead = trial_of(op, {f64({1, 4, 1}), i32({1})});
  op.reverse = true;
  OpTrial back = trial_of(op, {f64({1, 4, 1}), i32({1})});
  for (std::int64_t step = 0; step < 3; ++step)
    back.values[0].set(step, ahead.values[0].get(2 - step));
  for (OpTrial* trial : {&ahead, &back}) {
    trial->tensor(read(at.lengths)).set(0, 3);
    run(*trial);
  }
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_EQ(value(back, at.y)[2 * step], value(ahead, at.y)[2 * (2 - step)]) << step;
  }
  EXPECT_EQ(value(back, at.c_last)[0], value(ahead, at.c_last)[0]);
}

TEST(DropoutValues, KeepsItsShareAndScalesItUp) {
  OpTrial trial = trial_of(Dropout{.rate = 0.25, .stream = 9}, {f64({100, 100})});
  run(trial);
  run(trial, Phase::backward_data);
  int kept = 0;
  for (std::size_t i = 0; i < 10000; ++i) {
    double factor = value(trial, 2)[i] == 0 ? 0 : 1 / 0.75;
    kept += factor != 0;
    EXPECT_DOUBLE_EQ(value(trial, 2)[i], factor * value(trial, 0)[i]);
    EXPECT_DOUBLE_EQ(gradient(trial, 0)[i], factor * gradient(trial, 2)[i]);
  }
  EXPECT_NEAR(kept, 7500, 4 * std::sqrt(10000 * 0.25 * 0.75));
}

TEST(LossValues, SigmoidCrossEntropyStaysFiniteFarOut) {
  OpTrial trial = trial_of(SigmoidCrossEntropy{}, {f64({3, 1}), f64({3}), f64({3})});
  const double x[] = {1000, -1000, 0}, target[] = {0, 0, 1}, weight[] = {1, 1, 2};
  for (std::size_t i = 0; i < 3; ++i)
    value(trial, 0)[i] = x[i], value(trial, 1)[i] = target[i], value(trial, 2)[i] = weight[i];
  run(trial);
  EXPECT_NEAR(value(trial, 3)[0], 1000 + 2 * std::log(2.0), 1e-12);
  EXPECT_EQ(value(trial, 4)[0], 4);
}

TEST(LossValues, MeanSquaredErrorIsTheMeanOfASample) {
  OpTrial trial = trial_of(MeanError{}, {f64({2, 2}), f64({2, 2}), f64({2})});
  const double x[] = {1, 3, 5, 5}, target[] = {0, 0, 4, 2}, weight[] = {1, 3};
  for (std::size_t i = 0; i < 4; ++i) value(trial, 0)[i] = x[i], value(trial, 1)[i] = target[i];
  for (std::size_t i = 0; i < 2; ++i) value(trial, 2)[i] = weight[i];
  run(trial);
  EXPECT_EQ(value(trial, 3)[0], 1 * (1 + 9) / 2 + 3 * (1 + 9) / 2);
  EXPECT_EQ(value(trial, 4)[0], 4);
}

TEST(LossValues, MeanAbsoluteErrorHasTheSignAsGradientAndNoneWhereItIsMet) {
  OpTrial trial =
      trial_of(MeanError{.penalty = Penalty::absolute}, {f64({2, 2}), f64({2, 2}), f64({2})});
  const double x[] = {1, -3, 5, 5}, target[] = {0, 0, 5, 9}, weight[] = {1, 3};
  for (std::size_t i = 0; i < 4; ++i) value(trial, 0)[i] = x[i], value(trial, 1)[i] = target[i];
  for (std::size_t i = 0; i < 2; ++i) value(trial, 2)[i] = weight[i];
  run(trial);
  run(trial, Phase::backward_data);
  EXPECT_EQ(value(trial, 3)[0], 1 * (1 + 3) / 2 + 3 * (0 + 4) / 2);
  EXPECT_EQ(value(trial, 4)[0], 4);
  const double expected[] = {0.5, -0.5, 0, -1.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(gradient(trial, 0)[i], expected[i]) << i;
}

TEST(AccuracyValues, TheFirstOfEqualMaximaWins) {
  OpTrial trial = trial_of(Accuracy{}, {f64({2, 3}), i32({2}), f64({2})});
  const double x[] = {1, 2, 2, 2, 1, 2};
  for (std::size_t i = 0; i < 6; ++i) value(trial, 0)[i] = x[i];
  trial.values[1].set(0, 1);
  trial.values[1].set(1, 2);
  value(trial, 2)[0] = 0.5, value(trial, 2)[1] = 4;
  run(trial);
  EXPECT_EQ(value(trial, 3)[0], 0.5);
}

TEST(AccuracyValues, CountsTargetsAmongTheLargest) {
  OpTrial trial = trial_of(Accuracy{.top = 2}, {f64({3, 4}), i32({3}), f64({3})});
  const double x[] = {4,
                      1,
                      3,
                      2,  // the target is second
                      2,
                      2,
                      2,
                      1,  // third of three that are equal
                      std::nan(""),
                      0,
                      0,
                      0};  // not a number: never right
  for (std::size_t i = 0; i < 12; ++i) value(trial, 0)[i] = x[i];
  trial.values[1].set(0, 2);
  trial.values[1].set(1, 2);
  trial.values[1].set(2, 0);
  value(trial, 2)[0] = 0.5, value(trial, 2)[1] = 4, value(trial, 2)[2] = 8;
  run(trial);
  EXPECT_EQ(value(trial, 3)[0], 0.5);
}

}  // namespace
}  // namespace troika
