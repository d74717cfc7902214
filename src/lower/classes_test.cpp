#include "lower/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/testing/made_aspects.h"

namespace troika {
namespace {

using testing::ElementsAre;

TEST(Classes, EqualDevicesAreOneClass) {
  EXPECT_THAT(classes_of(equal_devices(4), {}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(classes_of(equal_devices(4), {exchange({alike(0, 4)})}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(classes_of(equal_devices(0), {}), ElementsAre());
}

TEST(Classes, RegularPlansOnRegularMachinesAreOneClass) {
  std::vector<Members> inside, between;
  for (std::int32_t i = 0; i < 8; ++i) inside.push_back(alike(i * 4, 4));
  for (std::int32_t i = 0; i < 4; ++i) between.push_back(alike(i, 8, 4));
  for (std::int64_t nodes_per_switch : {0, 2}) {
    Machine machine = cluster(8, 4, nodes_per_switch);
    EXPECT_THAT(classes_of(machine, {exchange({alike(0, 32)})}), testing::Each(0));
    EXPECT_THAT(classes_of(machine, {exchange(inside), exchange(between)}), testing::Each(0));
  }
}

TEST(Classes, AreNumberedByTheirFirstDevices) {
  Aspect aspect{.own = {5, 3, 5, 4, 3}};
  const Aspect* given[] = {&aspect};
  Classes classes = find_partition(equal_devices(5), given).devices;
  EXPECT_THAT(classes.of_device, ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(classes.first, ElementsAre(0, 1, 3));
  EXPECT_THAT(classes.size, ElementsAre(2, 2, 1));
  EXPECT_EQ(classes.count(), 3);
}

TEST(Classes, OneClassEachFoldsNothing) {
  EXPECT_EQ(one_class_each(3), (Classes{{0, 1, 2}, {0, 1, 2}, {1, 1, 1}}));
}

TEST(Classes, AspectsAreKeptApart) {
  // Both devices do 1 and 2, but in different aspects.
  EXPECT_THAT(classes_of(equal_devices(2), {{.own = {1, 2}}, {.own = {2, 1}}}), ElementsAre(0, 1));
  EXPECT_THAT(classes_of(equal_devices(4), {exchange({alike(0, 2)}), exchange({alike(2, 2)})}),
              ElementsAre(0, 0, 1, 1));
}

TEST(Classes, DevicesOfAnotherKindDiffer) {
  Machine machine = equal_devices(3);
  machine.devices[2].kind = "other";
  EXPECT_THAT(classes_of(machine, {}), ElementsAre(0, 0, 1));
  machine.devices[2] = {.flops_per_second = 1};
  EXPECT_THAT(classes_of(machine, {}), ElementsAre(0, 0, 1));
  machine.devices[2] = {.bytes_per_second = 1};
  EXPECT_THAT(classes_of(machine, {}), ElementsAre(0, 0, 1));
  machine.devices[2] = {.memory = {1}};
  EXPECT_THAT(classes_of(machine, {}), ElementsAre(0, 0, 1));
}

TEST(Classes, NamesAndNumbersAreNoDifference) {
  Machine machine = equal_devices(2);
  machine.devices[1] = {.name = "b", .node = 1, .rank = 1};
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 2)})}), ElementsAre(0, 0));
}

TEST(Classes, PartnersOfAnotherKindDiffer) {
  Machine machine = equal_devices(6);
  machine.devices[5].kind = "other";
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 3), alike(3, 3)})}),
              ElementsAre(0, 0, 0, 1, 1, 2));
}

TEST(Classes, GroupsOfUnequalSizeDiffer) {
  EXPECT_THAT(classes_of(equal_devices(5), {exchange({alike(0, 3), alike(3, 2)})}),
              ElementsAre(0, 0, 0, 1, 1));
}

TEST(Classes, GroupsOfUnequalShapeDiffer) {
  Aspect aspect{.exchanges = {exchanges({alike(0, 2)}, 1), exchanges({alike(2, 2)}, 2)}};
  EXPECT_THAT(classes_of(equal_devices(4), {aspect}), ElementsAre(0, 0, 1, 1));
}

TEST(Classes, TheRootOfABroadcastDiffersByItsPart) {
  EXPECT_THAT(classes_of(equal_devices(4), {exchange({{{2, 1}, {0, 0}, {1, 0}, {3, 0}}})}),
              ElementsAre(0, 0, 1, 0));
}

TEST(Classes, TheOrderOfMembersIsNoDifference) {
  Members forwards = alike(0, 3), backwards{{5, 0}, {4, 0}, {3, 0}};
  EXPECT_THAT(classes_of(equal_devices(6), {exchange({forwards, backwards})}), testing::Each(0));
}

/// Neighbours in a row exchange their borders: each sends to the right and to the left.
Aspect halos(std::int32_t devices, bool mirrored) {
  std::vector<Members> messages;
  for (std::int32_t i = 0; i + 1 < devices; ++i) {
    messages.push_back({{i, 0}, {i + 1, 1}});
    messages.push_back({{i + 1, mirrored ? 0 : 2}, {i, mirrored ? 1 : 3}});
  }
  return exchange(messages);
}

// A class knows how far away both borders are. What goes to the left is another part than what goes
// to the right, since it is another region of the tile: so the third device from the left is not
// the third from the right.
TEST(Classes, HalosRefineFromTheBorderInwards) {
  EXPECT_THAT(classes_of(equal_devices(8), {halos(8, false)}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Classes, HalosWithoutADirectionKeepTheMirrorSymmetry) {
  EXPECT_THAT(classes_of(equal_devices(8), {halos(8, true)}), ElementsAre(0, 1, 2, 3, 3, 2, 1, 0));
}

TEST(Classes, ARingOfHalosIsOneClass) {
  Aspect ring = halos(8, false);
  ring.exchanges[0].members.insert(ring.exchanges[0].members.end(),
                                   {{7, 0}, {0, 1}, {0, 2}, {7, 3}});
  ring.exchanges[0].ends.insert(ring.exchanges[0].ends.end(), {30, 32});
  EXPECT_THAT(classes_of(equal_devices(8), {ring}), testing::Each(0));
}

}  // namespace
}  // namespace troika
