// Tests the positions of elements, which gradient and tile tests cannot show. Element i of input k
// has the value 100 * k + i.
#include <gtest/gtest.h>

#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

/// The values of each output.
std::vector<std::vector<double>> outputs_of(const Op& op, std::vector<TensorSpec> inputs) {
  OpTrial trial({"case", op, std::move(inputs), {}}, 5);
  for (std::size_t slot = 0; slot < trial.inputs.size(); ++slot) {
    for (std::int64_t i = 0; i < trial.inputs[slot].shape.elements(); ++i)
      trial.values[slot].set(i, 100 * static_cast<double>(slot) + static_cast<double>(i));
  }
  trial.run(Phase::forward, *make_reference_backend());
  std::vector<std::vector<double>> all;
  for (int slot : trial.signature.slots_of(Role::output)) {
    const HostTensor& y = trial.tensor(read(slot));
    for (all.emplace_back(); std::ssize(all.back()) < y.spec.shape.elements();)
      all.back().push_back(y.get(std::ssize(all.back())));
  }
  return all;
}

using Values = std::vector<std::vector<double>>;

TEST(ShapeValues, DimensionKOfATransposeIsDimensionPermutationK) {
  EXPECT_EQ(outputs_of(Transpose{.permutation = {2, 0, 1}}, {f64({1, 2, 3})}),
            (Values{{0, 3, 1, 4, 2, 5}}));
}

TEST(ShapeValues, ConcatJoinsInTheOrderOfItsInputs) {
  EXPECT_EQ(outputs_of(Concat{.dim = 1}, {f64({2, 1}), f64({2, 2})}),
            (Values{{0, 100, 101, 1, 102, 103}}));
}

TEST(ShapeValues, SplitAndSliceTakeNeighbours) {
  EXPECT_EQ(outputs_of(SplitTensor{.dim = -1, .sizes = {1, 2}}, {f64({2, 3})}),
            (Values{{0, 3}, {1, 2, 4, 5}}));
  EXPECT_EQ(outputs_of(SliceTensor{.dim = 1, .begin = 1, .end = 3}, {f64({2, 4})}),
            (Values{{1, 2, 5, 6}}));
}

TEST(ShapeValues, TokensMoveLikeFloatingTensors) {
  EXPECT_EQ(outputs_of(SliceTensor{.dim = 1, .begin = 0, .end = 1}, {i32({2, 2})}),
            (Values{{0, 2}}));
}

TEST(ShapeValues, MeanRemovesItsDimension) {
  EXPECT_EQ(outputs_of(Mean{.dim = 1}, {f64({2, 2, 2})}), (Values{{1, 2, 5, 6}}));
}

TEST(ShapeValues, ReshapeFillsInWhatFollowsFromTheRest) {
  auto shape = [](Reshape op, Shape x) {
    return signature(op, std::vector{f64(x)}).slots[1].spec.shape;
  };
  EXPECT_EQ(shape({.shape = {0, -1}}, {2, 3, 4}), (Shape{2, 12}));
  EXPECT_EQ(shape({.shape = {-1, 0, 2, 2}}, {2, 3, 4}), (Shape{2, 3, 2, 2}));
  EXPECT_THROW(shape({.shape = {5, -1}}, {2, 3, 4}), Error);
  EXPECT_THROW(shape({.shape = {-1, -1}}, {2, 3, 4}), Error);
  EXPECT_THROW(shape({.shape = {6, 4, 1, 0}}, {2, 3, 4}), Error);
}

TEST(ShapeValues, ReshapeOffersTheOutermostCommonFactorOfEachGroup) {
  Signature s = signature(Reshape{.shape = {4, 3, 5}}, std::vector{f64({6, 2, 5})});
  ASSERT_EQ(s.axes.size(), 2u);
  EXPECT_EQ(s.axes[0], (Axis{"n", AxisKind::sample, 2}));
  EXPECT_EQ(s.axes[1], (Axis{"t", AxisKind::attribute, 5}));
}

}  // namespace
}  // namespace troika
