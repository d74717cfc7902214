#include "cli/simulated_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "machine/route.h"

namespace troika::cli {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Cluster four_by_two() { return {.nodes = {{.count = 4, .devices = 2, .ranks = 2}}}; }

TEST(SimulatedMachine, HasMoreNodesForMoreDevices) {
  Cluster more = with_devices(four_by_two(), 16);
  EXPECT_EQ(more.nodes[0].count, 8);
  EXPECT_EQ(more.nodes[0].devices, 2);
  EXPECT_EQ(with_devices(four_by_two(), 8), four_by_two());
  EXPECT_EQ(with_devices(four_by_two(), 2).nodes[0].count, 1);
}

TEST(SimulatedMachine, HasPartOfANodeForFewerDevices) {
  Cluster one = with_devices(four_by_two(), 1);
  EXPECT_EQ(one.nodes[0].count, 1);
  EXPECT_EQ(one.nodes[0].devices, 1);
  EXPECT_EQ(one.nodes[0].ranks, 1);
}

TEST(SimulatedMachine, KeepsTheMixtureOfNodes) {
  Cluster mixed{.nodes = {{.name = "a", .count = 2, .devices = 4}, {.name = "b", .count = 4}}};
  Cluster more = with_devices(mixed, 18);
  EXPECT_EQ(more.nodes[0].count, 3);
  EXPECT_EQ(more.nodes[1].count, 6);
  EXPECT_THAT([&] { with_devices(mixed, 8); },
              ThrowsMessage<Error>(HasSubstr("a multiple of 6 is needed")));
}

TEST(SimulatedMachine, OfNamedLinksIsNotScaled) {
  Cluster named = four_by_two();
  named.links = {{"node0", "node1", {}}};
  EXPECT_THAT([&] { with_devices(named, 16); },
              ThrowsMessage<Error>(HasSubstr("lists its links one by one")));
}

TEST(MachineWish, ChangesTheLinksBetweenNodes) {
  MachineWish wish = parse_wish({"link=100Gbps", "latency=5us"});
  Cluster faster = with_links(four_by_two(), wish);
  EXPECT_EQ(faster.network.link.bytes_per_second, 12.5e9);
  EXPECT_EQ(faster.network.link.latency, SimTime{5000});
  EXPECT_EQ(faster.node_link, four_by_two().node_link);
  LinkCosts costs = link_costs_of(faster);
  // On the way a message crosses two links inside nodes, which are slower here.
  EXPECT_DOUBLE_EQ(costs.network.beta, 1e9 / four_by_two().node_link.bytes_per_second);
  EXPECT_DOUBLE_EQ(costs.network.alpha,
                   static_cast<double>(5000 + four_by_two().node_link.latency.count));
  EXPECT_DOUBLE_EQ(costs.process.beta, 1e9 / four_by_two().node_link.bytes_per_second);
}

TEST(MachineWish, OfOneNodeChangesTheLinksBetweenItsDevices) {
  Cluster one{.nodes = {{.devices = 4}}};
  EXPECT_EQ(with_links(one, parse_wish({"link=1GB/s"})).node_link.bytes_per_second, 1e9);
}

TEST(MachineWish, IsForDevicesAndMemoryToo) {
  MachineWish wish = parse_wish({"devices=64", "memory=16GiB"});
  EXPECT_EQ(wish.devices, 64);
  EXPECT_EQ(wish.memory, Bytes{std::int64_t{16} << 30});
  EXPECT_FALSE(wish.changes_links());
  for (const char* bad :
       {"devices=0", "devices=4x", "devices=", "memory=0", "memory=much", "cores=4"})
    EXPECT_THROW(parse_wish({bad}), Error) << bad;
}

TEST(MachineWish, ChangesCostsWhereThereIsNoCluster) {
  Machine nodes = make_machine(four_by_two());
  LinkCosts before = assumed_link_costs();
  LinkCosts after = with_links(before, parse_wish({"link=100Gbps"}), nodes);
  EXPECT_DOUBLE_EQ(after.network.beta, 0.08);
  EXPECT_DOUBLE_EQ(after.network.alpha, before.network.alpha);
  EXPECT_EQ(after.process, before.process);
  Machine one{.devices = std::vector<DeviceSpec>(2)};
  EXPECT_EQ(with_links(before, {}, one), before);
  EXPECT_THAT([&] { with_links(before, parse_wish({"link=100Gbps"}), one); },
              ThrowsMessage<Error>(HasSubstr("are in one")));
}

TEST(MachineWish, IsRefusedWithWhatIsTaken) {
  for (const char* word : {"link", "link=fast", "links=100Gbps", "latency=100Gbps", "=", ""})
    EXPECT_THAT([&] { parse_wish({word}); }, ThrowsMessage<Error>(HasSubstr("takes link=RATE")))
        << word;
}

TEST(MachineWish, ForALatencyKeepsTheShareOfTheOverhead) {
  Cluster cluster = four_by_two();
  cluster.network.link = {.bytes_per_second = 1e9, .latency = {10'000}, .overhead = SimTime{2000}};
  EXPECT_EQ(with_links(cluster, parse_wish({"latency=500ns"})).network.link.overhead, SimTime{100});
}

TEST(LinkCostsOfACluster, AreThoseOfTheRouteBetweenNodesFarthestApart) {
  Cluster racks = four_by_two();
  racks.network = {.link = {.bytes_per_second = 1e9, .latency = {10'000}}, .nodes_per_switch = 2};
  LinkCosts costs = link_costs_of(racks);
  Machine machine = make_machine(racks);
  EXPECT_DOUBLE_EQ(
      costs.network.alpha,
      static_cast<double>(route_between(machine, DeviceId(0u), DeviceId(7u))->speed.latency.count));
  EXPECT_GT(costs.network.alpha, 15'000) << "two switches and the top one";
}

TEST(LinkCostsOfACluster, CopyAndCombineAtTheMemoryRateOfTheSlowestDevice) {
  Cluster mixed{.nodes = {{.name = "fast", .bytes_per_second = 2e12},
                          {.name = "slow", .bytes_per_second = 1e11}}};
  LinkCosts costs = link_costs_of(mixed);
  EXPECT_DOUBLE_EQ(costs.memory.copy, 0.02);
  EXPECT_DOUBLE_EQ(costs.network.gamma, 0.03);
}

TEST(LinkCostsOfACluster, FollowTheSlowestOfNamedLinks) {
  Cluster named{.nodes = {{.name = "n", .count = 3}}};
  named.links = {{"n0", "spine", {.bytes_per_second = 4e9, .latency = {100}}},
                 {"n1", "spine", {.bytes_per_second = 4e9, .latency = {100}}},
                 {"n2", "spine", {.bytes_per_second = 1e9, .latency = {100}}}};
  EXPECT_DOUBLE_EQ(link_costs_of(named).network.beta, 1);
}

}  // namespace
}  // namespace troika::cli
