#include "cost/occupancy.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

const MemoryRates kRates{{1, 20e9}, {4, 10e9}};
constexpr Occupancy kAlone{1, 1}, kTwo{2, 2}, kFour{4, 4};

TEST(Occupancy, IsThatOfTheFullestComputer) {
  Machine machine;
  for (int node : {0, 1, 1, 1}) machine.devices.push_back({.node = node});
  EXPECT_EQ(occupancy_of(machine, 8), (Occupancy{.devices = 3, .at_once = 3}));
  EXPECT_EQ(occupancy_of(machine, 2), (Occupancy{.devices = 3, .at_once = 2}));
  EXPECT_EQ(occupancy_of(machine, 0), (Occupancy{.devices = 3, .at_once = 1}));
  EXPECT_EQ(occupancy_of(Machine{}, 2), kAlone);
}

TEST(Reoccupied, ChangesThePartThatMemoryTakes) {
  // 20 kB take 1 us alone and 2 us beside three others.
  EXPECT_EQ(reoccupied({5000}, {20'000}, kRates, {kAlone, kFour}), SimTime{6000});
  EXPECT_EQ(reoccupied({6000}, {20'000}, kRates, {kFour, kAlone}), SimTime{5000});
  EXPECT_EQ(reoccupied({1000}, {20'000}, kRates, {kAlone, kFour}), SimTime{2000});
}

TEST(Reoccupied, ChangesAllOfATimeShorterThanThatOfMemory) {
  EXPECT_EQ(reoccupied({500}, {20'000}, kRates, {kAlone, kFour}), SimTime{1000});
}

TEST(Reoccupied, InterpolatesBetweenRatesAndKeepsTheLastOne) {
  // A third of the way from 50 to 100 ps per byte.
  EXPECT_EQ(reoccupied({1000}, {20'000}, kRates, {kAlone, kTwo}), SimTime{1333});
  EXPECT_EQ(reoccupied({1000}, {20'000}, kRates, {kAlone, {16, 16}}), SimTime{2000});
  EXPECT_EQ(reoccupied({2000}, {20'000}, {{2, 10e9}}, {kAlone, kFour}), SimTime{2000});
}

TEST(Reoccupied, TakesTurnsWhereDevicesShareACore) {
  EXPECT_EQ(reoccupied({1000}, {20'000}, {}, {kTwo, {4, 2}}), SimTime{2000});
  EXPECT_EQ(reoccupied({2000}, {20'000}, {}, {{4, 2}, kTwo}), SimTime{1000});
  EXPECT_EQ(reoccupied({1000}, {20'000}, {}, {kAlone, kFour}), SimTime{1000});
}

TEST(Reoccupied, FollowsTheMeanNumberOfDevicesThatCompute) {
  // Halfway from the rate of one device to that of four.
  EXPECT_EQ(reoccupied({6000}, {20'000}, kRates, kFour, 2.5), SimTime{5500});
  EXPECT_EQ(reoccupied({6000}, {20'000}, kRates, kFour, 1), SimTime{5000});
  EXPECT_EQ(reoccupied({6000}, {20'000}, kRates, kFour, 4), SimTime{6000});
  // Four devices on two cores, of which three compute.
  EXPECT_EQ(reoccupied({2000}, {20'000}, {}, {4, 2}, 3), SimTime{1500});
  EXPECT_EQ(reoccupied({2000}, {20'000}, {}, {4, 2}, 1), SimTime{1000});
}

}  // namespace
}  // namespace troika
