#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace troika::data {
namespace {

std::vector<std::int64_t> epoch_order(std::int64_t size, std::int64_t epoch, std::uint64_t seed,
                                      std::int64_t window = 0) {
  Sampler sampler(size, {.seed = seed, .window = window});
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < size; ++i) order.push_back(sampler.at(epoch * size + i).index);
  return order;
}

TEST(Sampler, SeesEverySampleOncePerEpoch) {
  for (std::int64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 100, 255, 256, 257, 1000, 65537}) {
    auto order = epoch_order(size, 2, 1);
    std::ranges::sort(order);
    for (std::int64_t i = 0; i < size; ++i)
      ASSERT_EQ(order[static_cast<std::size_t>(i)], i) << size;
  }
}

TEST(Sampler, OrdersByEpochAndSeedAlone) {
  EXPECT_EQ(epoch_order(1000, 3, 7), epoch_order(1000, 3, 7));
  EXPECT_NE(epoch_order(1000, 3, 7), epoch_order(1000, 4, 7));
  EXPECT_NE(epoch_order(1000, 3, 7), epoch_order(1000, 3, 8));
}

TEST(Sampler, CarriesTheRemainderIntoTheNextEpoch) {
  Sampler sampler(10, {.seed = 1});
  EXPECT_EQ(sampler.at(9).epoch, 0);
  EXPECT_EQ(sampler.at(10).epoch, 1);
  EXPECT_EQ(sampler.at(10).index, epoch_order(10, 1, 1)[0]);
}

TEST(Sampler, KeepsTheOrderOfTheSetWhenAsked) {
  Sampler sampler(10, {.order = Order::sequential});
  EXPECT_EQ(sampler.at(7), (Sample{7, 0}));
  EXPECT_EQ(sampler.at(23), (Sample{3, 2}));
}

// Each of the 24 orders of four samples should come up in about 1/24 of the epochs: chi-squared
// with 23 degrees of freedom exceeds 60 with probability 4e-5.
TEST(Sampler, DrawsAllOrdersAboutEquallyOften) {
  std::map<std::vector<std::int64_t>, int> counts;
  constexpr int kEpochs = 6000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) ++counts[epoch_order(4, epoch, 1)];
  EXPECT_EQ(counts.size(), 24U);
  double chi_squared = 0;
  for (const auto& [order, count] : counts)
    chi_squared += std::pow(count - kEpochs / 24.0, 2) / (kEpochs / 24.0);
  EXPECT_LT(chi_squared, 60);
}

TEST(Sampler, LeavesNoTraceOfTheOriginalOrder) {
  auto order = epoch_order(10000, 0, 1);
  double correlation = 0;
  int neighbours = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    correlation += (static_cast<double>(i) / 10000 - .5) *
                   (static_cast<double>(order[i]) / 10000 - .5) * 12 / 10000;
    if (i > 0 && std::abs(order[i] - order[i - 1]) == 1) ++neighbours;
  }
  EXPECT_LT(std::abs(correlation), 0.04);
  EXPECT_LT(neighbours, 12);
}

TEST(Sampler, SeesEverySampleOncePerEpochInWindowsOfAnySize) {
  for (std::int64_t size : {1, 2, 17, 100, 1000, 4099})
    for (std::int64_t window : {1, 15, 16, 48, 100, 1000, 5000}) {
      auto order = epoch_order(size, 2, 1, window);
      EXPECT_NE(size > 16 ? order : std::vector<std::int64_t>{}, epoch_order(size, 3, 1, window));
      std::ranges::sort(order);
      for (std::int64_t i = 0; i < size; ++i)
        ASSERT_EQ(order[static_cast<std::size_t>(i)], i) << size << " in windows of " << window;
    }
}

/// The runs of neighbouring samples that the positions [begin, end) need, as sample numbers.
std::vector<std::int64_t> samples_of_runs(const Sampler& sampler, Range positions, int& runs) {
  std::vector<std::int64_t> samples;
  for (std::int64_t at = positions.begin; at < positions.end; ++runs) {
    Range run = sampler.run_at(at);
    for (std::int64_t i = run.begin; i < run.end && at < positions.end; ++i, ++at)
      samples.push_back(i);
  }
  return samples;
}

TEST(Sampler, NeedsSixteenRunsOfNeighboursInAWindow) {
  constexpr std::int64_t kSize = 10'007, kWindow = 1600;
  Sampler sampler(kSize, {.seed = 5, .window = kWindow});
  for (std::int64_t begin = 2 * kSize; begin < 3 * kSize; begin += kWindow) {
    Range window{begin, std::min(begin + kWindow, 3 * kSize)};
    std::vector<std::int64_t> read;
    for (std::int64_t at = window.begin; at < window.end; ++at)
      read.push_back(sampler.at(at).index);
    EXPECT_FALSE(std::ranges::is_sorted(read));
    int runs = 0;
    std::vector<std::int64_t> announced = samples_of_runs(sampler, window, runs);
    EXPECT_LE(runs, 18) << "16, one that is rotated around the end, and a shorter last one";
    std::ranges::sort(read);
    std::ranges::sort(announced);
    EXPECT_EQ(read, announced);
    EXPECT_GT(read.back() - read.front(), kSize / 2) << "from all over the set";
  }
}

/// Where each sample of a window is in the row before the window was shuffled.
std::vector<std::int64_t> order_within(const Sampler& sampler, Range window) {
  int runs = 0;
  std::vector<std::int64_t> before = samples_of_runs(sampler, window, runs), order;
  for (std::int64_t at = window.begin; at < window.end; ++at)
    order.push_back(std::ranges::find(before, sampler.at(at).index) - before.begin());
  return order;
}

TEST(Sampler, ShufflesEachWindowOfEachEpochInAnotherWay) {
  constexpr std::int64_t kSize = 1600, kWindow = 400;
  Sampler sampler(kSize, {.window = kWindow});
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t begin = 0; begin < 3 * kSize; begin += kWindow)
    orders.insert(order_within(sampler, {begin, begin + kWindow}));
  EXPECT_EQ(orders.size(), 12U);
}

TEST(Sampler, LimitsTheWindowToTheSet) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Sampler(100, {.window = kMost}).window(), 100);
  EXPECT_EQ(epoch_order(100, 1, 1, kMost), epoch_order(100, 1, 1, 100));
}

TEST(Sampler, ReachesFarPositionsDirectly) {
  Sampler sampler(std::int64_t{1} << 40, {.seed = 1});
  Sample sample = sampler.at((std::int64_t{1} << 42) + 12345);
  EXPECT_EQ(sample.epoch, 4);
  EXPECT_LT(sample.index, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace troika::data
