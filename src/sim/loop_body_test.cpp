// Task graphs by hand whose messages share the links of a machine.
#include "sim/loop_body.h"

#include <gtest/gtest.h>

#include "cost/message_phases.h"
#include "machine/cluster.h"
#include "sim/simulate.h"

namespace troika {
namespace {

constexpr std::int64_t kLatency = 1000;

/// Devices with cards on one switch, or on two with a narrow link between them.
Machine on_switches(std::int64_t devices, double oversubscription = 0, double rate = 1e9) {
  NetworkSpec network{.link = {rate, {kLatency}, SimTime{0}}};
  if (oversubscription > 0) {
    network.nodes_per_switch = devices / 2;
    network.oversubscription = oversubscription;
  }
  return make_machine(
      {.nodes = {{.count = devices}}, .node_link = {1e18, {0}}, .network = network});
}

class HandMade {
 public:
  explicit HandMade(const Machine& machine)
      : machine_(machine), network_(machine, links_), placements_(network_) {
    graph_.arena.resize(machine.devices.size());
    graph_.links = network_.links();
  }

  /// A message of so many bytes, by its number.
  std::int32_t transfer(std::int32_t from, std::int32_t to, std::int64_t bytes) {
    CollectiveCall call{.kind = Collective::broadcast, .members = 2, .count = bytes};
    for (std::int32_t device : {from, to}) {
      call.nodes.push_back(machine_.devices[as_index(device)].node);
      call.processes.push_back(machine_.devices[as_index(device)].rank);
    }
    std::vector<std::int32_t> devices{from, to};
    Placement& placement = placements_.of(devices, true);
    MessagePhases phases = phases_on_links(
        phases_on_groups({network_, links_, placements_}, placement, {call, tree_, {1}}),
        all_links(placement));
    graph_.communications.push_back(
        {.call = call,
         .devices = {DeviceId(as_index(from)), DeviceId(as_index(to))},
         .phases = SharedPhases(std::make_shared<const MessagePhases>(std::move(phases)))});
    return static_cast<std::int32_t>(graph_.communications.size()) - 1;
  }

  void start(std::int32_t message) { add(message, TaskKind::start); }
  void finish(std::int32_t message) { add(message, TaskKind::finish); }
  void urgency(std::int32_t message, std::uint64_t urgency) {
    graph_.communications[as_index(message)].urgency = urgency;
  }
  /// Starts and finishes all messages that there are.
  std::int64_t length_of_all() {
    for (std::size_t at = 0; at < graph_.communications.size(); ++at)
      start(static_cast<std::int32_t>(at));
    for (std::size_t at = 0; at < graph_.communications.size(); ++at)
      finish(static_cast<std::int32_t>(at));
    return length();
  }
  std::int64_t length() const { return simulate(graph_).length().count; }
  std::int64_t end_of(std::size_t task) const { return simulate(graph_).spans[task].end.count; }

 private:
  void add(std::int32_t message, TaskKind kind) {
    for (std::size_t member : {0, 1})
      graph_.tasks.push_back({.id = {0, static_cast<std::int32_t>(graph_.tasks.size())},
                              .turn = {graph_.tasks.size()},
                              .device = graph_.communications[as_index(message)].devices[member],
                              .kind = kind,
                              .communication = CommunicationId(as_index(message)),
                              .member = static_cast<int>(member)});
  }

  const Machine& machine_;
  const LinkCosts links_ = assumed_link_costs();
  const std::string tree_ = "tree";
  Network network_;
  Placements placements_;
  TaskGraph graph_;
};

std::int64_t length_of(const Machine& machine,
                       std::initializer_list<std::pair<std::int32_t, std::int32_t>> ends) {
  HandMade made(machine);
  for (auto [from, to] : ends) made.transfer(from, to, 500);
  return made.length_of_all();
}

TEST(LoopBody, TransfersOnOneLinkFollowEachOtherAndOnTwoOverlap) {
  Machine machine = on_switches(4);
  EXPECT_EQ(length_of(machine, {{0, 1}}), 500 + kLatency);
  EXPECT_EQ(length_of(machine, {{0, 1}, {2, 3}}), 500 + kLatency) << "four cards";
  EXPECT_EQ(length_of(machine, {{0, 1}, {1, 0}}), 500 + kLatency) << "both directions";
  EXPECT_EQ(length_of(machine, {{0, 1}, {1, 2}}), 500 + kLatency) << "receives and sends";
  EXPECT_EQ(length_of(machine, {{0, 1}, {0, 2}}), 1000 + kLatency) << "one sender";
  EXPECT_EQ(length_of(machine, {{0, 2}, {1, 2}}), 1000 + kLatency) << "one receiver";
}

TEST(LoopBody, OversubscriptionSlowsWhatCrossesTheSwitch) {
  Machine wide = on_switches(8, 1), narrow = on_switches(8, 8);  // uplinks of 4 and 1/2 byte/ns
  auto inside = {std::pair{0, 1}, std::pair{2, 3}, std::pair{4, 5}, std::pair{6, 7}};
  auto across = {std::pair{0, 4}, std::pair{1, 5}, std::pair{2, 6}, std::pair{3, 7}};
  EXPECT_EQ(length_of(narrow, inside), length_of(wide, inside));
  EXPECT_EQ(length_of(wide, across), 500 + 2 * kLatency);
  EXPECT_EQ(length_of(narrow, across), 4 * 1000 + 2 * kLatency);
}

TEST(LoopBody, TheMoreUrgentTransferGoesFirstThenTheOneThatIsStartedFirst) {
  Machine machine = on_switches(3);
  auto ends = [&](std::uint64_t urgency) {
    HandMade made(machine);
    std::int32_t first = made.transfer(0, 1, 500), second = made.transfer(0, 2, 300);
    made.urgency(second, urgency);
    made.start(first), made.start(second), made.finish(second), made.finish(first);
    return std::pair(made.end_of(4) - kLatency, made.end_of(6) - kLatency);
  };
  EXPECT_EQ(ends(0), std::pair(800L, 800L)) << "device 0 waits for the second";
  EXPECT_EQ(ends(1), std::pair(300L, 800L));
}

// The time of a sharded sum in the LogGP model (Alexandrov et al. 1995, doi:10.1145/215399.215427),
// without overhead: each owner receives a part of every device's vector and sends it back.
void expect_time_of_sharded_sum(std::int32_t devices, std::int32_t owners) {
  const std::int64_t elements = 1200, bytes = 4, gap = 2;  // ns per byte
  Machine machine = on_switches(devices + owners, 0, 1e9 / gap);
  HandMade made(machine);
  std::vector<std::int32_t> there, back;
  for (std::int32_t device = 0; device < devices; ++device) {
    for (std::int32_t owner = devices; owner < devices + owners; ++owner) {
      there.push_back(made.transfer(device, owner, elements / owners * bytes));
      back.push_back(made.transfer(owner, device, elements / owners * bytes));
    }
  }
  for (const std::vector<std::int32_t>& way : {there, back}) {
    for (std::int32_t message : way) made.start(message);
    for (std::int32_t message : way) made.finish(message);
  }
  EXPECT_EQ(made.length(), 2 * kLatency + 2 * devices * bytes * (elements / owners) * gap)
      << devices << " devices, " << owners << " owners";
}

TEST(LoopBody, ASumOverOwnersTakesTwoLatenciesAndTwoPassesOfAnOwnersCard) {
  for (std::int32_t devices : {2, 4, 6, 12})
    for (std::int32_t owners : {1, 2, 3, 4, 6, 12})
      if (owners <= devices) expect_time_of_sharded_sum(devices, owners);
}

}  // namespace
}  // namespace troika
