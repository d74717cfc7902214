// Conventions that neither differences nor tiles can check, against values worked out by hand. That
// they are those of PyTorch is checked where PyTorch is there, in tests/torch_parity_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/step_scalars.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

class DenseValues : public testing::Test {
 protected:
  static void set(HostTensor& tensor, std::vector<double> values) {
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), tensor.spec.shape.elements());
    for (std::size_t i = 0; i < values.size(); ++i)
      tensor.set(static_cast<std::int64_t>(i), values[i]);
  }
  static void expect(const HostTensor& tensor, std::vector<double> values) {
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), tensor.spec.shape.elements());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(tensor.get(static_cast<std::int64_t>(i)), values[i], 1e-12) << i;
  }
  std::unique_ptr<Backend> backend_ = make_reference_backend();
};

TEST_F(DenseValues, ConvolutionDoesNotFlipItsKernelAndPadsAtBothEnds) {
  OpTrial trial({"",
                 Conv2d{.out = 1, .kernel = {1, 3}, .pad = {0, 1}, .pad_end = {0, 1}},
                 {f64({1, 1, 1, 3})}},
                1);
  set(trial.values[0], {1, 2, 3});
  set(trial.values[1], {1, 10, 100});
  trial.run(Phase::forward, *backend_);
  expect(trial.values[2], {210, 321, 32});
}

TEST_F(DenseValues, GroupedChannelsDoNotMix) {
  OpTrial trial({"", Conv2d{.out = 4, .groups = 2}, {f64({1, 2, 1, 1})}}, 1);
  set(trial.values[0], {3, 5});
  set(trial.values[1], {1, 10, 100, 1000});
  trial.run(Phase::forward, *backend_);
  expect(trial.values[2], {3, 30, 500, 5000});
}

TEST_F(DenseValues, TransposedConvolutionSpreadsEachInput) {
  ConvTranspose2d op{
      .out = 1, .kernel = {1, 3}, .stride = {1, 2}, .pad = {0, 1}, .pad_end = {0, 0}};
  OpTrial trial({"", op, {f64({1, 1, 1, 2})}}, 1);
  set(trial.values[0], {1, 2});
  set(trial.values[1], {1, 10, 100});
  trial.run(Phase::forward, *backend_);
  expect(trial.values[2], {10, 102, 20, 200});
}

TEST_F(DenseValues, AverageDividesByWhatTheWindowSeesUnlessPaddingCounts) {
  for (bool include : {false, true}) {
    Pool2d op{.kind = PoolKind::average,
              .window = {1, 2},
              .stride = {1, 2},
              .pad = {0, 1},
              .pad_end = {0, 1}};
    op.include_padding = include;
    OpTrial trial({"", op, {f64({1, 1, 1, 4})}}, 1);
    set(trial.values[0], {1, 2, 4, 8});
    trial.run(Phase::forward, *backend_);
    expect(trial.values[1],
           include ? std::vector<double>{0.5, 3, 4} : std::vector<double>{1, 3, 8});
  }
}

TEST_F(DenseValues, GradientOfEqualLargestElementsGoesToTheFirst) {
  OpTrial trial({"", Pool2d{.window = {2, 2}}, {f64({1, 1, 2, 2})}}, 1);
  set(trial.values[0], {1, 7, 7, 7});
  set(trial.gradients[1], {3});
  trial.run(Phase::backward_data, *backend_);
  expect(trial.gradients[0], {0, 3, 0, 0});
}

TEST_F(DenseValues, RunningStatisticsAreSumsOverShardsOfMeanAndUnbiasedVariance) {
  OpTrial trial({"", BatchNorm{.epsilon = 0, .shards = 2}, {f64({4, 1})}}, 1);
  set(trial.values[0], {1, 3, 10, 14});
  set(trial.values[1], {2});
  set(trial.values[2], {5});
  trial.run(Phase::forward, *backend_);
  expect(trial.values[5], {3, 7, 3, 7});
  expect(trial.gradients[3], {2 + 12});
  expect(trial.gradients[4], {2 + 8});
}

TEST_F(DenseValues, PredictionNormalisesByTheRunningStatistics) {
  OpTrial trial({"", BatchNorm{.epsilon = 1, .training = false}, {f64({2, 1})}}, 1);
  set(trial.values[0], {1, 5});
  set(trial.values[1], {2});
  set(trial.values[2], {1});
  set(trial.values[3], {1});
  set(trial.values[4], {3});
  trial.run(Phase::forward, *backend_);
  expect(trial.values[5], {1, 5});
}

TEST_F(DenseValues, RunningAverageTakesTheMeanOverShardsAndSkipsABadStep) {
  OpTrial trial({"", RunningAverage{.momentum = 0.25, .shards = 2}, {f64({1})}}, 1);
  set(trial.values[0], {8});
  set(trial.gradients[0], {24});
  trial.run(Phase::update, *backend_);
  expect(trial.values[0], {9});
  trial.values[2].set(static_cast<std::int64_t>(Control::ok), 0);
  trial.run(Phase::update, *backend_);
  expect(trial.values[0], {9});
}

TEST_F(DenseValues, LocalResponseNormDividesAlphaByTheSizeAndLooksFurtherBack) {
  OpTrial trial(
      {"", LocalResponseNorm{.size = 2, .alpha = 4, .beta = 1, .k = 1}, {f64({1, 3, 1, 1})}}, 1);
  set(trial.values[0], {1, 2, 3});
  trial.run(Phase::forward, *backend_);
  expect(trial.values[1], {1 / (1 + 2.0), 2 / (1 + 2 * 5.0), 3 / (1 + 2 * 13.0)});
}

}  // namespace
}  // namespace troika
