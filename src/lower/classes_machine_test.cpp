// Classes on machines with nodes, processes and links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/testing/made_aspects.h"

namespace troika {
namespace {

using testing::ElementsAre;

TEST(ClassesOfMachines, NodesOfUnequalSizeDifferIfTheyCommunicate) {
  Machine machine = equal_devices(5);
  machine.devices[3].node = machine.devices[4].node = 1;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 5)})}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(classes_of(machine, {}), testing::Each(0));
  // An idle device does not count.
  EXPECT_THAT(classes_of(machine, {exchange({{{0, 0}, {1, 0}, {3, 0}, {4, 0}}})}),
              ElementsAre(0, 0, 1, 0, 0));
}

TEST(ClassesOfMachines, ProcessesOfUnequalSizeDiffer) {
  Machine machine = equal_devices(3);
  machine.devices[2].rank = 1;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 3)})}), ElementsAre(0, 0, 1));
}

// Each device has one partner, and so has each node; but some partners are near.
TEST(ClassesOfMachines, HowMembersAreSpreadOverNodesMatters) {
  Machine machine = equal_devices(8);
  for (std::size_t i = 0; i < 8; ++i) machine.devices[i].node = static_cast<std::int32_t>(i / 2);
  Aspect pairs = exchange({alike(0, 2), alike(2, 2), alike(4, 2, 2), alike(5, 2, 2)});
  EXPECT_THAT(classes_of(machine, {pairs}), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

/// Two places with four devices; each has three members of one communication and one of the other.
Aspect three_and_one() {
  return exchange({{{0, 0}, {1, 0}, {2, 0}, {4, 0}}, {{3, 0}, {5, 0}, {6, 0}, {7, 0}}});
}

TEST(ClassesOfMachines, AMemberAloneInItsNodeDiffersFromThoseThatAreTogether) {
  Machine machine = equal_devices(8);
  for (std::size_t i = 0; i < 8; ++i) {
    machine.devices[i].node = i < 4 ? 0 : 1;
    machine.devices[i].rank = static_cast<std::int32_t>(i);
  }
  EXPECT_THAT(classes_of(machine, {three_and_one()}), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(ClassesOfMachines, AMemberAloneInItsProcessDiffersFromThoseThatAreTogether) {
  Machine machine = equal_devices(8);
  for (std::size_t i = 4; i < 8; ++i) machine.devices[i].rank = 1;
  EXPECT_THAT(classes_of(machine, {three_and_one()}), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(ClassesOfMachines, ASlowLinkMatters) {
  Machine machine = cluster(2, 2);
  machine.links[3].speed.bytes_per_second /= 2;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), ElementsAre(0, 0, 1, 2));
  machine.links[3].speed = machine.links[0].speed;
  machine.links[3].speed.latency.count += 1;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), ElementsAre(0, 0, 1, 2));
}

TEST(ClassesOfMachines, ASlowLinkBehindTheNodeMattersWhereItIsCrossed) {
  Machine machine = cluster(3, 2);
  machine.links[6].speed.bytes_per_second /= 2;  // of the first node
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 6)})}), ElementsAre(0, 0, 1, 1, 1, 1));
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 2), alike(2, 2), alike(4, 2)})}),
              testing::Each(0));
}

TEST(ClassesOfMachines, WhatElseCrossesALinkMatters) {
  // Two pairs of nodes; two messages between the first two, one between the others.
  Machine machine = cluster(4, 3);
  Aspect aspect = exchange({alike(0, 2, 3), alike(1, 2, 3), alike(6, 2, 3)});
  EXPECT_THAT(classes_of(machine, {aspect}), ElementsAre(0, 0, 1, 0, 0, 1, 2, 1, 1, 2, 1, 1));
}

// Two pairs of nodes, each with a link and two broadcasts over it: of the first pair in the same
// direction, of the second pair in opposite directions. Only the senders and receivers themselves
// are alike, and the nodes have equally many of each.
TEST(ClassesOfMachines, TheDirectionOfABroadcastOnALinkMatters) {
  Machine machine = equal_devices(8);
  for (const char* hub : {"a", "b", "c", "d"}) machine.hubs.emplace_back(hub);
  for (std::int32_t i = 0; i < 8; ++i) machine.links.push_back({i, 8 + i / 2});
  machine.links.insert(machine.links.end(), {{8, 9}, {10, 11}});
  auto broadcast = [](std::int32_t from, std::int32_t to) { return Members{{from, 1}, {to, 0}}; };
  Aspect same = exchange({broadcast(0, 2), broadcast(1, 3), broadcast(4, 6), broadcast(5, 7)});
  EXPECT_THAT(classes_of(machine, {same}), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  Aspect mixed = exchange({broadcast(0, 2), broadcast(1, 3), broadcast(4, 6), broadcast(7, 5)});
  EXPECT_THAT(classes_of(machine, {mixed}), ElementsAre(0, 0, 1, 1, 2, 3, 3, 2));
}

TEST(ClassesOfMachines, UnequalSwitchesDiffer) {
  Machine machine = cluster(3, 1, 2);
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 3)})}), ElementsAre(0, 0, 1));
}

// Four devices in a ring of links.
TEST(ClassesOfMachines, MachinesWithCyclesUseRoutes) {
  Machine machine = equal_devices(4);
  machine.links = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), testing::Each(0));
  machine.links[2].speed.bytes_per_second /= 2;  // device 2 sends over it, 3 receives
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), ElementsAre(0, 1, 2, 3));
}

// Two rings in which every second link is slow. In the first the large messages take the fast
// links, in the second the slow ones; every device has one of each and sees a link of each speed.
TEST(ClassesOfMachines, WhichLinkCarriesWhatMatters) {
  Machine machine = equal_devices(8);
  for (std::int32_t ring : {0, 4})
    for (std::int32_t i = 0; i < 4; ++i)
      machine.links.push_back({.a = ring + i,
                               .b = ring + (i + 1) % 4,
                               .speed = {.bytes_per_second = i % 2 == 0 ? 2e9 : 1e9}});
  Exchanges large = exchanges({alike(0, 2), alike(2, 2), alike(5, 2), alike(7, 2, -3)}, 1);
  Exchanges small = exchanges({alike(1, 2), alike(3, 2, -3), alike(4, 2), alike(6, 2)}, 2);
  EXPECT_THAT(classes_of(machine, {{.exchanges = {large, small}}}),
              ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

}  // namespace
}  // namespace troika
