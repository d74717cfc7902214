#include "machine/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/computer.h"
#include "machine/route.h"
#include "machine/speed_text.h"

namespace troika {
namespace {

DeviceId device(std::size_t index) { return DeviceId(index); }

Cluster two_by_two() {
  return {.nodes = {{.name = "a", .count = 2, .devices = 2, .ranks = 2, .kind = "fast"}},
          .node_link = {1e10, {1000}},
          .network = {.link = {1e9, {20'000}}}};
}

TEST(Cluster, DevicesKnowTheirNodeAndRank) {
  Cluster cluster = two_by_two();
  cluster.nodes.push_back({.name = "b", .devices = 3, .kind = "slow"});
  Machine machine = make_machine(cluster);
  std::vector<std::string> names;
  std::vector<int> nodes, ranks;
  for (const DeviceSpec& spec : machine.devices) {
    names.push_back(spec.name);
    nodes.push_back(spec.node);
    ranks.push_back(spec.rank);
  }
  EXPECT_THAT(names, testing::ElementsAre("a0.0", "a0.1", "a1.0", "a1.1", "b.0", "b.1", "b.2"));
  EXPECT_THAT(nodes, testing::ElementsAre(0, 0, 1, 1, 2, 2, 2));
  EXPECT_THAT(ranks, testing::ElementsAre(0, 1, 2, 3, 4, 4, 4));
  EXPECT_EQ(node_count(machine), 3);
  EXPECT_THAT(devices_of_node(machine, 1), testing::ElementsAre(device(2), device(3)));
  EXPECT_EQ(why_unconnected(machine), std::nullopt);
}

TEST(Route, HasTheStatedLatencyInsideANodeAndBetweenNodes) {
  Machine machine = make_machine(two_by_two());
  Route inside = route_between(machine, device(0), device(1)).value();
  EXPECT_EQ(inside.hops.size(), 2u);
  EXPECT_EQ(inside.speed, (LinkSpeed{1e10, {1000}}));
  Route between = route_between(machine, device(0), device(3)).value();
  EXPECT_EQ(between.hops.size(), 4u);
  EXPECT_EQ(between.speed, (LinkSpeed{1e9, {21'000}}));
  EXPECT_TRUE(route_between(machine, device(2), device(2)).value().hops.empty());
}

TEST(Route, ReturnsOverTheSameLinks) {
  Machine machine = make_machine(two_by_two());
  Route there = route_between(machine, device(0), device(3)).value();
  Route back = route_between(machine, device(3), device(0)).value();
  ASSERT_EQ(there.hops.size(), back.hops.size());
  for (std::size_t hop = 0; hop < there.hops.size(); ++hop) {
    EXPECT_EQ(there.hops[hop].link, back.hops[back.hops.size() - 1 - hop].link);
    EXPECT_NE(there.hops[hop].forward, back.hops[back.hops.size() - 1 - hop].forward);
  }
}

TEST(Cluster, OversubscriptionNarrowsTheWayBetweenSwitches) {
  Cluster cluster{
      .nodes = {{.name = "n", .count = 8}},
      .network = {.link = {1e9, {20'000}}, .nodes_per_switch = 4, .oversubscription = 8}};
  Machine machine = make_machine(cluster);
  EXPECT_EQ(route_between(machine, device(0), device(3)).value().speed.bytes_per_second, 1e9);
  Route far = route_between(machine, device(0), device(4)).value();
  EXPECT_EQ(far.hops.size(), 6u);
  EXPECT_EQ(far.speed.bytes_per_second, 0.5e9);
  cluster.network.oversubscription = 1;
  machine = make_machine(cluster);
  EXPECT_EQ(route_between(machine, device(0), device(4)).value().speed.bytes_per_second, 1e9);
}

TEST(Cluster, ExplicitLinksStandInsteadOfTheNetwork) {
  Cluster ring{.nodes = {{.name = "n", .count = 4}}, .node_link = {1e12, {0}}};
  for (int at = 0; at < 4; ++at)
    ring.links.push_back(
        {"n" + std::to_string(at), "n" + std::to_string((at + 1) % 4), {1e9, {10}}});
  Machine machine = make_machine(ring);
  EXPECT_EQ(route_between(machine, device(0), device(3)).value().speed.latency, SimTime{10});
  EXPECT_EQ(route_between(machine, device(0), device(2)).value().speed.latency, SimTime{20});
  ring.links.resize(2);
  EXPECT_EQ(why_unconnected(make_machine(ring)), "no links lead from 'n0.0' to 'n3.0'");
  EXPECT_EQ(route_between(make_machine(ring), device(0), device(3)), std::nullopt);
}

TEST(TotalMemory, IsReadFromTheLinesOfTheSystem) {
  EXPECT_EQ(total_memory("MemTotal:       24614212 kB\nMemFree: 1 kB\n"),
            Bytes{std::int64_t{24614212} * 1024});
  EXPECT_EQ(total_memory("nothing"), Bytes{0});
}

TEST(SpeedText, ReadsBitsBytesAndTimes) {
  EXPECT_EQ(parse_rate("10Gbps"), 1.25e9);
  EXPECT_EQ(parse_rate("100 Gbit/s"), 12.5e9);
  EXPECT_EQ(parse_rate("32GB/s"), 32e9);
  EXPECT_EQ(parse_rate("1MiB/s"), 1048576.0);
  for (const char* text : {"", "10", "10 Gb", "-1GB/s", "0GB/s", "nanGB/s", "GB/s"})
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
  EXPECT_EQ(parse_latency("1.5us"), SimTime{1500});
  EXPECT_EQ(parse_latency("0ns"), SimTime{0});
  EXPECT_EQ(parse_latency("3 minutes"), std::nullopt);
  EXPECT_EQ(parse_flops("1.5Tflops"), 1.5e12);
  EXPECT_EQ(rate_text(12.5e9), "12.5 GB/s");
  EXPECT_EQ(flops_text(1.5e12), "1.5 Tflops");
  EXPECT_EQ(parse_rate(rate_text(3.2e7)), 3.2e7);
}

}  // namespace
}  // namespace troika
