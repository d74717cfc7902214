#include "cost/kernel_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace troika {
namespace {

constexpr double kFlops = 1e11, kBytes = 1e10;

KernelKey linear(std::int64_t samples, std::int64_t out, std::int64_t in) {
  return {Linear{.out = out}, {{{samples, in}, DType::f32}}, Phase::forward, {}};
}

/// A device with 2 us to start a kernel, and half of its rate where a tile has 16 outputs.
SimTime true_time(const KernelKey& key) {
  double out = static_cast<double>(std::get<Linear>(key.op).out);
  return {std::llround(2000 + static_cast<double>(bytes_of(key).count) / kBytes * 1e9 +
                       static_cast<double>(flops_of(key).count) / kFlops * 1e9 * (1 + 16 / out))};
}

Candidate timed(SimTime time) { return {.algorithm = "loop", .time = time, .timing = Timing{}}; }

KernelRows measured() {
  KernelRows rows;
  for (std::int64_t samples : {4, 32, 256})
    for (std::int64_t out : {8, 64, 512})
      for (std::int64_t in : {16, 128, 1024}) {
        KernelKey key = linear(samples, out, in);
        // A slower candidate does not count.
        rows.insert(key, {timed(true_time(key) * 3), timed(true_time(key))});
      }
  rows.memory_rates = {{1, kBytes}};
  return rows;
}

TEST(KernelFit, PredictsShapesBetweenMeasuredOnes) {
  KernelFit fit(measured());
  EXPECT_EQ(fit.measured(), 27);
  EXPECT_LT(fit.error(), 0.01);
  for (auto [samples, out, in] : {std::array{16, 32, 64}, {128, 8, 512}, {8, 256, 256}}) {
    KernelKey key = linear(samples, out, in);
    double ratio =
        static_cast<double>(fit.time(key)->count) / static_cast<double>(true_time(key).count);
    EXPECT_NEAR(ratio, 1, 0.05) << to_text(key);
  }
}

TEST(KernelFit, KnowsThatThinTilesLose) {
  KernelFit fit(measured());
  // The same arithmetic, a quarter of the outputs and four times the samples.
  EXPECT_GT(fit.time(linear(1024, 16, 1024))->count,
            fit.time(linear(256, 64, 1024))->count * 11 / 10);
}

TEST(KernelFit, ScalesArithmeticAndMemoryToOtherDevices) {
  KernelFit fit(measured());
  KernelKey key = linear(256, 512, 1024);
  EXPECT_GT(fit.rates().flops_per_second, kFlops * 0.8);
  EXPECT_LE(fit.rates().flops_per_second, kFlops);
  DeviceRates fast{fit.rates().flops_per_second * 10, fit.rates().bytes_per_second * 1e6};
  double arithmetic = static_cast<double>(flops_of(key).count) / kFlops * 1e9 * (1 + 16 / 512.0);
  EXPECT_NEAR(static_cast<double>(fit.time(key, fast)->count), 2000 + arithmetic / 10,
              arithmetic / 100);
}

TEST(KernelFit, DoesNotDependOnTheOrderOfRows) {
  KernelRows turned;
  KernelRows rows = measured();
  for (std::size_t at = rows.size(); at-- > 0;)
    turned.insert(rows.rows()[at].key, rows.rows()[at].candidates);
  turned.memory_rates = rows.memory_rates;
  KernelKey key = linear(100, 100, 100);
  EXPECT_EQ(KernelFit(rows).time(key), KernelFit(turned).time(key));
}

TEST(KernelFit, HasNoTimeForFusedOperatorsThatWereNotMeasuredTogether) {
  KernelKey key = linear(32, 64, 128);
  key.fused.push_back({Activation{}, {}});
  KernelFit fit(measured());
  EXPECT_FALSE(fit.time(key));
  KernelRows with_fused = measured();
  with_fused.insert(key, {timed({5000})});
  EXPECT_TRUE(KernelFit(with_fused).time(key));
}

TEST(KernelFit, GivesKindsWithFewRowsTheShapeOfAllKernels) {
  KernelRows rows = measured();
  KernelKey known{Activation{}, {{{64, 64}, DType::f32}}, Phase::forward, {}};
  rows.insert(known, {timed({10'000})});
  KernelFit fit(rows);
  EXPECT_NEAR(static_cast<double>(fit.time(known)->count), 10'000, 5);
  KernelKey larger{Activation{}, {{{640, 64}, DType::f32}}, Phase::forward, {}};
  EXPECT_GT(*fit.time(larger), *fit.time(known));
}

TEST(KernelFit, IsEmptyWithoutMeasuredRows) {
  KernelRows rows;
  rows.insert(linear(4, 4, 4), {{.algorithm = "loop"}});
  EXPECT_EQ(KernelFit(rows).measured(), 0);
  EXPECT_FALSE(KernelFit(rows).time(linear(4, 4, 4)));
}

}  // namespace
}  // namespace troika
