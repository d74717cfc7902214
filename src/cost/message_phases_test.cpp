#include "cost/message_phases.h"

#include <gtest/gtest.h>

#include <numeric>

#include "collective/algorithms.h"
#include "cost/formulas.h"
#include "machine/cluster.h"

namespace troika {
namespace {

LinkCosts same_links(LinkCost link) {
  return {.process = link,
          .node = link,
          .network = link,
          .memory = {.copy = 1, .reduce = 3 * link.gamma, .reduce_both = 2}};
}

/// Nodes that list no links, numbered as their devices are.
Machine nodes_of(int nodes, int each) {
  Machine machine;
  for (int device = 0; device < nodes * each; ++device)
    machine.devices.push_back({.node = device / each, .rank = device});
  return machine;
}

struct PlacedCall {
  const Machine& machine;
  CollectiveCall call;
  std::string algorithm;
};

CollectiveCall placed(CollectiveCall call, const Machine& machine) {
  for (int member = 0; member < call.members; ++member) {
    call.nodes.push_back(machine.devices[as_index(member)].node);
    call.processes.push_back(machine.devices[as_index(member)].rank);
  }
  return call;
}

/// Of a call between the first devices.
MessagePhases phases_of(const PlacedCall& asked, const LinkCosts& links) {
  Network network(asked.machine, links);
  Placements placements(network);
  std::vector<std::int32_t> devices(as_index(asked.call.members));
  std::iota(devices.begin(), devices.end(), 0);
  Placement& placement = placements.of(devices, is_rooted(asked.call.kind));
  MessagePhases on_groups =
      phases_on_groups({network, links, placements}, placement, {asked.call, asked.algorithm, {4}});
  return phases_on_links(on_groups, all_links(placement));
}

SimTime total_load(const MessagePhases& phases, std::int32_t link) {
  SimTime total{};
  for (const MessagePhase& phase : phases.phases)
    for (std::int32_t at = phase.first_load; at < phase.first_load + phase.loads; ++at)
      if (phases.loads[as_index(at)].link == link)
        total += phases.loads[as_index(at)].time * phase.repeats;
  return total;
}

TEST(MessagePhases, TakeAsLongAsTheFormulaSaysIfEachDeviceHasACard) {
  LinkCosts costs = same_links({.alpha = 1000, .beta = 3, .gamma = 2, .overhead = 300});
  int compared = 0;
  for (int members : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 31, 32, 33}) {
    Machine machine = nodes_of(members, 1);
    for (const Algorithm& algorithm : algorithms()) {
      CollectiveCall call =
          placed(equal_parts(algorithm.kind, members,
                             algorithm.kind == Collective::barrier ? 0 : 64 * members),
                 machine);
      if (algorithm.why_not(call)) continue;
      PlacedCall asked{machine, call, std::string(algorithm.name)};
      EXPECT_EQ(time_alone(phases_of(asked, costs)), formula_time(call, algorithm.name, {4}, costs))
          << to_string(algorithm.kind) << " " << algorithm.name << " of " << members;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(MessagePhases, OfARingWithSegmentsTakeAsLongAsTheFormulaSays) {
  // Combining hidden behind messages: longer than the links are busy, longer than all, shorter.
  for (double gamma : {3.0, 5.0, 0.5}) {
    LinkCosts costs = same_links({.alpha = 100, .beta = 3, .gamma = gamma});
    for (int members : {2, 3, 8, 9}) {
      Machine machine = nodes_of(members, 1);
      for (std::int64_t segment : {8, 16, 24, 64}) {
        CollectiveCall call =
            placed(equal_parts(Collective::all_reduce, members, 64 * members), machine);
        call.segment = segment;
        EXPECT_EQ(time_alone(phases_of({machine, call, "ring"}, costs)),
                  formula_time(call, "ring", {4}, costs))
            << members << " members, segments of " << segment;
      }
    }
  }
}

TEST(MessagePhases, OfMeasuredMessagesTakeAsLongAsTheFormulaSays) {
  LinkCosts costs = same_links({.alpha = 1000, .beta = 1});
  costs.network.message_times = {{{{0}, 900}, {{64}, 2000}, {{4096}, 4500}}};
  Machine machine = nodes_of(8, 1);
  for (const Algorithm& algorithm : algorithms(Collective::all_reduce)) {
    CollectiveCall call = placed(equal_parts(Collective::all_reduce, 8, 800), machine);
    if (algorithm.why_not(call)) continue;
    EXPECT_EQ(time_alone(phases_of({machine, call, std::string(algorithm.name)}, costs)),
              formula_time(call, algorithm.name, {4}, costs))
        << algorithm.name;
  }
}

TEST(MessagePhases, AreFewForManyMembers) {
  LinkCosts costs = same_links({.alpha = 1000, .beta = 1, .gamma = 1});
  Machine machine = nodes_of(1152, 8);
  CollectiveCall call = placed(equal_parts(Collective::all_reduce, 9216, 9216 * 100), machine);
  for (const char* algorithm : {"ring", "hierarchical", "rabenseifner", "recursive_doubling"}) {
    MessagePhases phases = phases_of({machine, call, algorithm}, costs);
    EXPECT_LE(phases.phases.size(), 64u) << algorithm;
  }
  // A message enters and leaves each node in each step.
  MessagePhases ring = phases_of({machine, call, "ring"}, costs);
  EXPECT_EQ(time_alone(ring), formula_time(call, "ring", {4}, costs));
}

TEST(MessagePhases, OfDevicesThatShareACardLoadItTogether) {
  // Every element crosses the card once in each direction, whatever the algorithm does inside.
  LinkCosts costs = same_links({.alpha = 0, .beta = 1});
  Machine machine = nodes_of(2, 8);
  CollectiveCall call = placed(equal_parts(Collective::all_reduce, 16, 1600), machine);
  Network network(machine, costs);
  auto card = static_cast<std::int32_t>(network.directed_links()) - 4;  // of the first node
  for (const char* algorithm : {"hierarchical", "recursive_doubling"}) {
    MessagePhases phases = phases_of({machine, call, algorithm}, costs);
    std::int64_t times = algorithm[0] == 'h' ? 1 : 8;
    for (std::int32_t direction : {0, 1})
      EXPECT_EQ(total_load(phases, card + direction).count, 6400 * times) << algorithm;
  }
}

TEST(MessagePhases, OfATransferLoadOneDirection) {
  LinkCosts costs = same_links({.alpha = 100, .beta = 1, .overhead = 10});
  Machine machine = nodes_of(2, 1);
  CollectiveCall call = placed({.kind = Collective::broadcast, .members = 2, .count = 50}, machine);
  call.ranges.resize(2);
  MessagePhases phases = phases_of({machine, call, "tree"}, costs);
  ASSERT_EQ(phases.phases.size(), 1u);
  EXPECT_EQ(phases.phases[0].latency, SimTime{90});
  // Cards lead from a node to the switch: forwards from the sender, backwards to the receiver.
  std::vector<LinkLoad> expected{{4, {210}, {200}}, {7, {210}, {200}}};
  EXPECT_EQ(phases.loads, expected);
}

TEST(MessagePhases, SeeOversubscriptionOnlyWhereTheyCrossTheSwitch) {
  auto time = [](int members, double oversubscription) {
    Machine machine = make_machine(
        {.nodes = {{.count = 8}},
         .node_link = {1e12, {0}},
         .network = {
             .link = {1e9, {0}}, .nodes_per_switch = 4, .oversubscription = oversubscription}});
    CollectiveCall call =
        placed(equal_parts(Collective::all_to_all, members, 1000 * members), machine);
    return time_alone(phases_of({machine, call, "pairwise"}, assumed_link_costs())).count;
  };
  EXPECT_EQ(time(4, 8), time(4, 1));
  EXPECT_EQ(time(4, 8), 3 * 4000);
  // Of seven steps, in the one at distance 4 all four nodes send across, over a link of 4/8.
  EXPECT_EQ(time(8, 1), 7 * 4000);
  EXPECT_EQ(time(8, 8), (1 + 2 + 3 + 4 + 3 + 2 + 1) * 8000);
}

TEST(MessagePhases, LoadLinksThatAreAlikeAsMuchAsTheOneWithMost) {
  // Along a tree some nodes receive in the last step only, and load their cards in all.
  LinkCosts costs = same_links({.alpha = 0, .beta = 1});
  Machine machine = nodes_of(4, 1);
  CollectiveCall call = placed({.kind = Collective::broadcast, .members = 4, .count = 25}, machine);
  call.ranges.resize(4);
  MessagePhases phases = phases_of({machine, call, "tree"}, costs);
  for (std::int32_t node : {1, 2, 3})
    EXPECT_EQ(total_load(phases, 8 + 2 * node + 1).count, 200) << "to node " << node;
  EXPECT_EQ(total_load(phases, 8).count, 200) << "from the root";
  EXPECT_EQ(total_load(phases, 9).count, 0) << "to the root";
}

TEST(MessagePhases, OfAMeasuredCollectiveTakeThatLong) {
  LinkCosts costs = same_links({.alpha = 1000, .beta = 1});
  Machine machine = nodes_of(4, 1);
  CollectiveCall call = placed(equal_parts(Collective::all_reduce, 4, 400), machine);
  Network network(machine, costs);
  Placements placements(network);
  std::vector<std::int32_t> devices{0, 1, 2, 3};
  std::string ring = "ring";
  for (std::int64_t measured : {100, 5000, 50'000}) {
    MessagePhases phases =
        phases_on_groups({network, costs, placements}, placements.of(devices, false),
                         {call, ring, {4}, SimTime{measured}});
    EXPECT_EQ(time_alone(phases).count, measured);
  }
}

}  // namespace
}  // namespace troika
