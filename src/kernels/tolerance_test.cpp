#include "kernels/tolerance.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

KernelKey layer(std::int64_t terms, std::vector<FusedOp> behind = {}) {
  return {Linear{.out = 8}, {{{8, terms}, DType::f32}}, Phase::forward, std::move(behind)};
}

TEST(Tolerance, GrowsWithTheSquareRootOfLongSums) {
  EXPECT_DOUBLE_EQ(tolerance(layer(64), "x"), 2e-5);
  EXPECT_DOUBLE_EQ(tolerance(layer(4096), "x"), 2e-5);
  EXPECT_DOUBLE_EQ(tolerance(layer(4 * 4096), "x"), 4e-5);
}

TEST(Tolerance, BehindTanhFollowsTheSumsUpToABound) {
  FusedOp tanh{Activation{.kind = ActivationKind::tanh}, {}}, relu{Activation{}, {}};
  EXPECT_DOUBLE_EQ(tolerance(layer(64, {relu}), "x"), 2e-5);
  EXPECT_NEAR(tolerance(layer(64, {tanh}), "x"), 16e-5, 1e-5);
  EXPECT_DOUBLE_EQ(tolerance(layer(25088, {tanh}), "x"), 1e-3);
}

}  // namespace
}  // namespace troika
