#include "strategy/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace troika {
namespace {

using testing::ElementsAre;

std::vector<int> numbers(const std::vector<DeviceId>& devices) {
  std::vector<int> values;
  for (DeviceId device : devices) values.push_back(device.value);
  return values;
}

TEST(Split, CountsPartsOverAllFactorsOfAnAxis) {
  Split split{.factors = {{"n", 3}, {"o", 2}, {"", 5}, {"n", 4}}};
  EXPECT_EQ(degree_along(split, "n"), 12);
  EXPECT_EQ(degree_along(split, "h"), 1);
  EXPECT_EQ(tile_count(split), 24);
  EXPECT_EQ(replicas_of(split), 5);
}

TEST(Split, CountsDoNotOverflow) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  Split split{.factors = {{"n", kHuge}, {"n", kHuge}, {"o", kHuge}}};
  EXPECT_EQ(degree_along(split, "n"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(tile_count(split), std::numeric_limits<std::int64_t>::max());
  split.factors[0].stride = kHuge;
  EXPECT_EQ(largest_device(split), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(devices_used(split).size(), 2u);
}

TEST(Split, ADegreeBelowOneIsNotHiddenByAnother) {
  EXPECT_EQ(degree_along(Split{.factors = {{"n", -2}, {"n", -3}}}, "n"), -2);
}

TEST(Split, AViewUsesTheDevicesOfItsStrides) {
  Split view{.factors = {{"n", 3, 4}, {"o", 2}, {.axis = "i", .degree = 2, .stride = 0}},
             .first = 2};
  EXPECT_THAT(numbers(devices_used(view)), ElementsAre(2, 3, 6, 7, 10, 11));
  EXPECT_EQ(largest_device(view), 11);
  Split overlapping{.factors = {{"n", 3, 1}, {"o", 2, 1}}};
  EXPECT_THAT(numbers(devices_used(overlapping)), ElementsAre(0, 1, 2, 3));
  Split list{.factors = {{"n", 3}}, .devices = {DeviceId(4u), DeviceId(1u), DeviceId(4u)}};
  EXPECT_THAT(numbers(devices_used(list)), ElementsAre(1, 4));
  EXPECT_EQ(largest_device(list), 4);
}

TEST(Split, StridesAreDenseByDefaultAndSkipSharedDevices) {
  std::vector<Factor> factors{{"n", 4}, {"o", 3}, {.axis = "h", .degree = 5, .stride = 0}, {"", 2}};
  EXPECT_EQ(dense_stride(factors, 0), 6);
  EXPECT_EQ(dense_stride(factors, 1), 2);
  EXPECT_EQ(dense_stride(factors, 3), 1);
  std::vector<Factor> made = dense(factors);
  EXPECT_EQ(made[0].stride, 30);
  EXPECT_EQ(made[2].stride, 2);
}

}  // namespace
}  // namespace troika
