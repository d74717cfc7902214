#include "data/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

#include "base/testing/test_effort.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

float squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F, std::plus{},
                            [](float x, float y) { return (x - y) * (x - y); });
}

const Values& nearest(const std::vector<Values>& known, const Values& asked) {
  return *std::ranges::min_element(
      known, {}, [&](const Values& v) { return squared_distance(v.input, asked.input); });
}

TEST(Digits, HasTheSizesAndShapeOfItsContract) {
  auto train = open("digits:train");
  EXPECT_EQ(train->size(), 10'000);
  EXPECT_EQ(open("digits:test")->size(), 2'000);
  EXPECT_EQ(open("digits:train?size=123")->size(), 123);
  EXPECT_EQ(open("digits:train[5:25]")->size(), 20);
  EXPECT_EQ(train->classes(), 10);
  EXPECT_EQ(train->fields()[0].spec.shape, (Shape{1, 28, 28}));
}

TEST(Digits, AreTheSameEveryTimeAndInAnySize) {
  auto a = read_all(*open("digits:train?size=50", {.normalization = Normalization::identity()}));
  auto b =
      read_all(*open("digits:train?size=200[0:50]", {.normalization = Normalization::identity()}));
  EXPECT_EQ(a, b);
}

TEST(Digits, DifferBySeedAndBetweenTrainAndTest) {
  OpenOptions plain{.normalization = Normalization::identity()};
  std::set<std::vector<float>> images;
  for (const char* uri :
       {"digits:train?size=200", "digits:test?size=200", "digits:train?size=200&seed=2"})
    for (const Values& values : read_all(*open(uri, plain))) images.insert(values.input);
  EXPECT_EQ(images.size(), 600U);
}

TEST(Digits, HoldAllTenClassesInFairShares) {
  std::array<int, 10> counts{};
  for (const Values& values : read_all(*open("digits:train?size=2000")))
    ++counts[static_cast<std::size_t>(values.target[0])];
  EXPECT_GT(std::ranges::min(counts), 150);
  EXPECT_LT(std::ranges::max(counts), 250);
}

TEST(Digits, CanBeToldApartByTheNearestNeighbourButVary) {
  if (asks_less()) GTEST_SKIP() << "arithmetic only, and slow when instrumented";
  auto known = read_all(*open("digits:train?size=1500"));
  auto asked = read_all(*open("digits:test?size=200"));
  int right = 0;
  for (const Values& values : asked) {
    const Values& found = nearest(known, values);
    right += found.target == values.target ? 1 : 0;
    EXPECT_GT(squared_distance(found.input, values.input), 1.0F)
        << "two images are nearly the same";
  }
  EXPECT_GT(right, 160);
}

TEST(Digits, LieInsideTheImageWithInkAndPaper) {
  for (const Values& values :
       read_all(*open("digits:train?size=500", {.normalization = Normalization::identity()}))) {
    float ink = std::accumulate(values.input.begin(), values.input.end(), 0.0F);
    EXPECT_GT(ink, 15);
    EXPECT_LT(ink, 250);
    EXPECT_GT(std::ranges::max(values.input), 0.5F);
  }
}

TEST(Digits, MayBeReadByManyThreadsAtOnce) {
  auto expected = read_all(*open("digits:train?size=16684[16384:16684]"));
  auto shared = open("digits:train?size=16684[16384:16684]");
  std::array<std::vector<Values>, 4> results;
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = read_all(*shared); });
  }
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace troika::data
