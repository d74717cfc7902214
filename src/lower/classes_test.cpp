#include "lower/classes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "lower/testing/colour_refinement.h"
#include "machine/cluster.h"

namespace troika {
namespace {

using testing::ElementsAre;

using Members = std::vector<Membership>;

/// Communications of one shape.
Exchanges exchanges(const std::vector<Members>& all, std::uint64_t shape = 7) {
  Exchanges made{.shape = shape};
  for (const Members& members : all) {
    made.members.insert(made.members.end(), members.begin(), members.end());
    made.ends.push_back(static_cast<std::int32_t>(made.members.size()));
  }
  return made;
}

/// These devices, with the same part.
Members alike(std::int32_t first, std::int32_t count, std::int32_t stride = 1) {
  Members members;
  for (std::int32_t i = 0; i < count; ++i) members.push_back({first + i * stride, 0});
  return members;
}

Aspect exchange(const std::vector<Members>& all) { return {.exchanges = {exchanges(all)}}; }

/// Also that the definition gives the same.
std::vector<std::int32_t> classes_of(const Machine& machine, const std::vector<Aspect>& aspects) {
  std::vector<const Aspect*> given;
  for (const Aspect& aspect : aspects) given.push_back(&aspect);
  Classes found = find_classes(machine, given);
  Classes defined = refine_naively(machine, facts_of(machine, given));
  EXPECT_EQ(found.of_device, defined.of_device);
  EXPECT_EQ(found, defined);
  return found.of_device;
}

Machine equal_devices(std::size_t count) { return {std::vector<DeviceSpec>(count)}; }

/// Equal nodes behind one switch, or behind several.
Machine cluster(std::int64_t nodes, std::int64_t devices, std::int64_t nodes_per_switch = 0) {
  return make_machine({.nodes = {{.count = nodes, .devices = devices, .ranks = devices}},
                       .network = {.nodes_per_switch = nodes_per_switch}});
}

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
  Classes classes = find_classes(equal_devices(5), given);
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

TEST(Classes, NodesOfUnequalSizeDifferIfTheyCommunicate) {
  Machine machine = equal_devices(5);
  machine.devices[3].node = machine.devices[4].node = 1;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 5)})}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(classes_of(machine, {}), testing::Each(0));
  // An idle device does not count.
  EXPECT_THAT(classes_of(machine, {exchange({{{0, 0}, {1, 0}, {3, 0}, {4, 0}}})}),
              ElementsAre(0, 0, 1, 0, 0));
}

TEST(Classes, ProcessesOfUnequalSizeDiffer) {
  Machine machine = equal_devices(3);
  machine.devices[2].rank = 1;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 3)})}), ElementsAre(0, 0, 1));
}

// Each device has one partner, and so has each node; but some partners are near.
TEST(Classes, HowMembersAreSpreadOverNodesMatters) {
  Machine machine = equal_devices(8);
  for (std::size_t i = 0; i < 8; ++i) machine.devices[i].node = static_cast<std::int32_t>(i / 2);
  Aspect pairs = exchange({alike(0, 2), alike(2, 2), alike(4, 2, 2), alike(5, 2, 2)});
  EXPECT_THAT(classes_of(machine, {pairs}), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

// Two nodes with four devices: each has three members of one communication and one of the other.
TEST(Classes, AMemberAloneInItsNodeDiffersFromThoseThatAreTogether) {
  Machine machine = equal_devices(8);
  for (std::size_t i = 4; i < 8; ++i) machine.devices[i].node = 1;
  Aspect aspect = exchange({{{0, 0}, {1, 0}, {2, 0}, {4, 0}}, {{3, 0}, {5, 0}, {6, 0}, {7, 0}}});
  EXPECT_THAT(classes_of(machine, {aspect}), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(Classes, ASlowLinkMatters) {
  Machine machine = cluster(2, 2);
  machine.links[3].speed.bytes_per_second /= 2;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), ElementsAre(0, 0, 1, 2));
  machine.links[3].speed = machine.links[0].speed;
  machine.links[3].speed.latency.count += 1;
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), ElementsAre(0, 0, 1, 2));
}

TEST(Classes, ASlowLinkBehindTheNodeMattersWhereItIsCrossed) {
  Machine machine = cluster(3, 2);
  machine.links[6].speed.bytes_per_second /= 2;  // of the first node
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 6)})}), ElementsAre(0, 0, 1, 1, 1, 1));
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 2), alike(2, 2), alike(4, 2)})}),
              testing::Each(0));
}

TEST(Classes, WhatElseCrossesALinkMatters) {
  // Two pairs of nodes; two messages between the first two, one between the others.
  Machine machine = cluster(4, 3);
  Aspect aspect = exchange({alike(0, 2, 3), alike(1, 2, 3), alike(6, 2, 3)});
  EXPECT_THAT(classes_of(machine, {aspect}), ElementsAre(0, 0, 1, 0, 0, 1, 2, 1, 1, 2, 1, 1));
}

// Two pairs of nodes, each with a link and two broadcasts over it: of the first pair in the same
// direction, of the second pair in opposite directions. Only the senders and receivers themselves
// are alike, and the nodes have equally many of each.
TEST(Classes, TheDirectionOfABroadcastOnALinkMatters) {
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

TEST(Classes, UnequalSwitchesDiffer) {
  Machine machine = cluster(3, 1, 2);
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 3)})}), ElementsAre(0, 0, 1));
}

// Four devices in a ring of links.
TEST(Classes, MachinesWithCyclesUseRoutes) {
  Machine machine = equal_devices(4);
  machine.links = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), testing::Each(0));
  machine.links[2].speed.bytes_per_second /= 2;  // device 2 sends over it, 3 receives
  EXPECT_THAT(classes_of(machine, {exchange({alike(0, 4)})}), ElementsAre(0, 1, 2, 3));
}

/// Seeded draws.
class Random {
 public:
  explicit Random(std::uint64_t seed) : random_{.key = seed} {}
  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>(random_.below(at_++, static_cast<std::uint64_t>(bound)));
  }

 private:
  RandomStream random_;
  std::uint64_t at_ = 0;
};

/// Nodes and processes at random, mostly equal; no links, a tree, or links with cycles.
Machine random_machine(Random& random) {
  Cluster cluster{.network = {.nodes_per_switch = random.below(3)}};
  for (std::int32_t specs = 1 + random.below(2); specs > 0; --specs) {
    std::int32_t each = 1 + random.below(4);
    cluster.nodes.push_back({.name = fmt::format("n{}_", specs),
                             .count = 1 + random.below(4),
                             .devices = each,
                             .ranks = 1 + random.below(each)});
  }
  Machine machine = make_machine(cluster);
  auto any = [&](std::size_t size) { return as_index(random.below(static_cast<int>(size))); };
  if (random.below(3) == 0) machine.links.clear(), machine.hubs.clear();
  if (random.below(3) == 0) machine.devices[any(machine.devices.size())].kind = "other";
  if (!machine.links.empty() && random.below(3) == 0)
    machine.links[any(machine.links.size())].speed.bytes_per_second = 1e6;
  if (machine.hubs.size() > 2 && random.below(2) == 0) {
    auto first = static_cast<std::int32_t>(machine.devices.size());
    machine.links.push_back({.a = first, .b = first + 1});  // a cycle
  }
  return machine;
}

/// Mostly regular: groups of equal size with equal strides, some of them damaged.
Aspect random_aspect(std::int32_t devices, Random& random) {
  Aspect aspect;
  if (random.below(3) == 0)
    for (std::int32_t i = 0; i < devices; ++i) aspect.own.push_back(random.below(8) == 0 ? 1 : 0);
  for (std::int32_t lists = random.below(3); lists > 0; --lists) {
    std::int32_t size = 1 + random.below(devices);
    std::int32_t stride = 1 + random.below(devices);
    std::vector<Members> all;
    for (std::int32_t first = 0; first + size <= devices; first += size) {
      all.emplace_back();
      for (std::int32_t i = 0; i < size; ++i)
        all.back().push_back({(first + i) * stride % devices, random.below(12) == 0 ? 1 : 0});
      if (random.below(8) == 0) all.pop_back();
    }
    aspect.exchanges.push_back(exchanges(all, static_cast<std::uint64_t>(random.below(2))));
  }
  return aspect;
}

TEST(Classes, EqualTheDefinitionOnRandomAspects) {
  std::map<std::size_t, int> seen;  // how many cases have how many classes
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    Machine machine = random_machine(random);
    std::vector<Aspect> aspects;
    for (std::int32_t count = 1 + random.below(3); count > 0; --count)
      aspects.push_back(random_aspect(static_cast<std::int32_t>(machine.devices.size()), random));
    std::vector<std::int32_t> classes = classes_of(machine, aspects);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    std::size_t count = as_index(*std::ranges::max_element(classes)) + 1;
    ++seen[std::min(count, classes.size() - 1)];
  }
  EXPECT_GT(seen[1], 100);  // neither all alike nor all different
  EXPECT_GT(seen[2] + seen[3] + seen[4], 200);
}

}  // namespace
}  // namespace troika
