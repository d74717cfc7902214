#include "search/scoring_kernels.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

KernelKey linear(std::int64_t out) {
  return {Linear{.out = out}, {{{64, 128}, DType::f32}}, Phase::forward, {}};
}

KernelKey fused(std::int64_t out) {
  KernelKey key = linear(out);
  key.fused.push_back({Activation{}, {}});
  return key;
}

Candidate timed(std::int64_t nanoseconds, std::vector<Layout> layouts = {}) {
  return {.algorithm = "direct",
          .layouts = std::move(layouts),
          .time = SimTime{nanoseconds},
          .timing = Timing{}};
}

/// Rows whose time is 10 ns for each output, and a blocked kernel that takes longer.
KernelTable known(const std::string& kind) {
  KernelTable table;
  for (std::int64_t out : {16, 32, 64, 128, 256, 512, 1024})
    table.insert({kind, linear(out)}, {timed(out * 11), timed(out * 10)});
  table.of(kind).memory_rates = {{1, 1e10}};
  return table;
}

Machine machine_of(const std::string& kind, double flops) {
  return {{{.kind = kind, .flops_per_second = flops, .bytes_per_second = 1e10}}};
}

SimTime time_of(const ScoringKernels& kernels, const KernelRequest& row) {
  return *kernels.answer(row).front().time;
}

TEST(ScoringKernels, TakeTheFastestKnownKernelAndLeaveOperandsPlain) {
  ScoringKernels kernels(known("cpu"), machine_of("cpu", 1e9));
  std::vector<Candidate> answer = kernels.answer({"cpu", linear(64)});
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].time, SimTime{640});
  EXPECT_EQ(answer[0].layouts, std::vector<Layout>(3, Layout::plain));
  EXPECT_TRUE(kernels.is_measured({"cpu", linear(64)}));
}

TEST(ScoringKernels, EstimateShapesThatAreNotKnown) {
  ScoringKernels kernels(known("cpu"), machine_of("cpu", 1e9));
  EXPECT_FALSE(kernels.is_measured({"cpu", linear(96)}));
  EXPECT_NEAR(static_cast<double>(time_of(kernels, {"cpu", linear(96)}).count), 960, 30);
}

TEST(ScoringKernels, ScaleRowsOfAnotherKindToTheRatesOfTheDevice) {
  KernelTable table = known("cpu");
  double sustained = KernelFit(table.of("cpu")).rates().flops_per_second;
  ScoringKernels kernels(table, machine_of("gpu", sustained * 4));
  EXPECT_EQ(kernels.source_of("gpu"), "cpu");
  SimTime own = time_of(ScoringKernels(table, machine_of("cpu", 1e9)), {"cpu", linear(96)});
  SimTime scaled = time_of(kernels, {"gpu", linear(96)});
  EXPECT_LT(scaled.count * 2, own.count);
  EXPECT_GE(scaled.count * 4, own.count - 4);
}

TEST(ScoringKernels, HaveNoTimesWithoutKnownRows) {
  ScoringKernels kernels({}, machine_of("gpu", 1e12));
  EXPECT_FALSE(kernels.answer({"gpu", linear(64)}).front().time);
  EXPECT_TRUE(kernels.answer({"gpu", fused(64)}).empty());
  EXPECT_EQ(kernels.fit_of("gpu"), nullptr);
}

TEST(ScoringKernels, FuseOnlyWhatIsKnownToBeFused) {
  KernelTable table = known("cpu");
  EXPECT_FALSE(ScoringKernels(table, machine_of("cpu", 1e9)).may_fuse());
  EXPECT_TRUE(ScoringKernels(table, machine_of("cpu", 1e9)).answer({"cpu", fused(64)}).empty());
  table.insert({"cpu", fused(32)}, {timed(330)});
  table.insert({"cpu", fused(16)}, {});
  ScoringKernels kernels(table, machine_of("cpu", 1e9));
  EXPECT_TRUE(kernels.may_fuse());
  EXPECT_FALSE(kernels.answer({"cpu", fused(64)}).empty());
  EXPECT_TRUE(kernels.answer({"cpu", fused(16)}).empty()) << "there is no such kernel";
}

}  // namespace
}  // namespace troika
