#include "cli/simulated_machine.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>

#include "base/error.h"
#include "config/run_config.h"
#include "machine/route.h"
#include "machine/speed_text.h"

namespace troika::cli {
namespace {

std::int64_t device_count(const Cluster& cluster) {
  std::int64_t count = 0;
  for (const NodeSpec& node : cluster.nodes) count += node.count * node.devices;
  return count;
}

[[noreturn]] void refuse_count(const Cluster& cluster, std::int64_t devices,
                               const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("the cluster '{}' cannot have {} devices: {}",
                                            cluster.name, devices, why));
}

void change(LinkSpeed& speed, const MachineWish& wish) {
  if (wish.bytes_per_second > 0) speed.bytes_per_second = wish.bytes_per_second;
  if (wish.latency < SimTime{}) return;
  // The overhead stays the same part of it.
  if (speed.overhead && speed.latency > SimTime{})
    speed.overhead = {speed.overhead->count * wish.latency.count / speed.latency.count};
  speed.latency = wish.latency;
}

/// Costs of a link of this speed; combining on arrival costs what it did.
LinkCost cost_of(const LinkSpeed& speed, const LinkCost& before, const char* origin) {
  return {.alpha = static_cast<double>(speed.latency.count),
          .beta = 1e9 / speed.bytes_per_second,
          .gamma = before.gamma,
          .overhead = static_cast<double>(overhead_of(speed).count),
          .combine_times = before.combine_times,
          .origin = origin};
}

/// The slowest route between the first devices of two nodes: of neighbours where links are listed
/// one by one, otherwise of those farthest apart.
LinkSpeed network_speed(const Cluster& cluster) {
  LinkSpeed network = cluster.network.link;
  Machine machine = make_machine(cluster);
  std::int32_t nodes = node_count(machine);
  auto first_of = [&](std::int32_t node) { return devices_of_node(machine, node).front(); };
  auto route = [&](std::int32_t from, std::int32_t to) {
    return route_between(machine, first_of(from), first_of(to));
  };
  if (cluster.links.empty()) return nodes > 1 ? route(0, nodes - 1)->speed : network;
  for (std::int32_t node = 1; node < nodes; ++node) {
    std::optional<Route> next = route(node - 1, node);
    if (next && (node == 1 || next->speed.bytes_per_second < network.bytes_per_second))
      network = next->speed;
  }
  return network;
}

/// What copying and combining cost a device, from the memory rate of the slowest one: each byte of
/// a copy is read and written, of a sum read twice and written.
void set_memory_costs(const Cluster& cluster, LinkCosts& costs) {
  double slowest = cluster.nodes.front().bytes_per_second;
  for (const NodeSpec& node : cluster.nodes) slowest = std::min(slowest, node.bytes_per_second);
  double pass = 1e9 / slowest;
  costs.memory = {.copy = 2 * pass, .reduce = 3 * pass, .reduce_both = 2 * pass};
  for (LinkCost* link : {&costs.process, &costs.node, &costs.network}) link->gamma = 3 * pass;
}

/// False for an unknown name or a value that makes no sense.
bool add_wish(const std::string& name, const std::string& value, MachineWish& wish) {
  if (name == "link") {
    std::optional<double> rate = parse_rate(value);
    wish.bytes_per_second = rate.value_or(0);
    return rate.has_value();
  }
  if (name == "latency") {
    std::optional<SimTime> latency = parse_latency(value);
    wish.latency = latency.value_or(SimTime{});
    return latency.has_value();
  }
  if (name == "devices") {
    const char* end = value.data() + value.size();
    auto [stop, error] = std::from_chars(value.data(), end, wish.devices);
    return error == std::errc{} && stop == end && wish.devices > 0 && wish.devices <= kMostDevices;
  }
  if (name != "memory") return false;
  try {
    wish.memory = parse_bytes(value);
  } catch (const Error&) {
    return false;
  }
  return wish.memory.count > 0;
}

}  // namespace

MachineWish parse_wish(const std::vector<std::string>& words) {
  MachineWish wish;
  for (const std::string& word : words) {
    std::size_t equals = word.find('=');
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (!add_wish(word.substr(0, equals), value, wish))
      throw Error(ErrorKind::usage,
                  fmt::format("'--what-if' takes link=RATE, such as link=100Gbps, latency=TIME, "
                              "such as latency=5us, devices=NUMBER or memory=SIZE, such as "
                              "memory=16GiB, not '{}'",
                              word));
  }
  return wish;
}

Machine with_memory(Machine machine, const MachineWish& wish) {
  for (DeviceSpec& device : machine.devices)
    if (wish.memory.count > 0) device.memory = wish.memory;
  return machine;
}

Cluster with_devices(Cluster cluster, std::int64_t devices) {
  std::int64_t now = device_count(cluster);
  if (devices == now) return cluster;
  if (!cluster.links.empty())
    refuse_count(cluster, devices,
                 fmt::format("it lists its links one by one and has {} devices", now));
  NodeSpec& first = cluster.nodes.front();
  std::int64_t group = 0;  // devices of the smallest cluster with the same mixture of nodes
  std::int64_t divisor = 0;
  for (const NodeSpec& node : cluster.nodes) divisor = std::gcd(divisor, node.count);
  for (const NodeSpec& node : cluster.nodes) group += node.count / divisor * node.devices;
  if (cluster.nodes.size() == 1 && devices < first.devices) {
    first.count = 1;
    first.devices = devices;
    first.ranks = std::min(first.ranks, devices);
    return cluster;
  }
  if (devices % group != 0)
    refuse_count(cluster, devices, fmt::format("a multiple of {} is needed", group));
  for (NodeSpec& node : cluster.nodes) node.count = node.count / divisor * (devices / group);
  return cluster;
}

Cluster with_links(Cluster cluster, const MachineWish& wish) {
  std::int64_t nodes = 0;
  for (const NodeSpec& node : cluster.nodes) nodes += node.count;
  for (NamedLink& link : cluster.links) change(link.speed, wish);
  if (cluster.links.empty()) change(nodes > 1 ? cluster.network.link : cluster.node_link, wish);
  return cluster;
}

LinkCosts with_links(LinkCosts costs, const MachineWish& wish, const Machine& machine) {
  if (!wish.changes_links()) return costs;
  if (node_count(machine) < 2)
    throw Error(ErrorKind::usage,
                "'--what-if' changes the links between computers, but all devices of the plan are "
                "in one; describe a cluster of several nodes with --cluster CLUSTER.toml");
  LinkSpeed speed{.bytes_per_second = 1e9 / costs.network.beta,
                  .latency = {static_cast<std::int64_t>(costs.network.alpha)}};
  change(speed, wish);
  costs.network = cost_of(speed, costs.network, "--what-if");
  std::erase_if(costs.measured,
                [](const MeasuredAlgorithm& row) { return row.link == LinkKind::network; });
  return costs;
}

LinkCosts link_costs_of(const Cluster& cluster) {
  LinkCosts costs = assumed_link_costs();
  set_memory_costs(cluster, costs);
  costs.node = cost_of(cluster.node_link, costs.node, "the cluster file");
  costs.process = cost_of(cluster.node_link, costs.process, "the cluster file");
  costs.network = cost_of(network_speed(cluster), costs.network, "the cluster file");
  costs.provenance = {.source = fmt::format("from the cluster '{}'", cluster.name),
                      .machine = cluster.name};
  return costs;
}

}  // namespace troika::cli
