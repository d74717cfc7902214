// For tests: machines on which messages wait for each other.
#pragma once

#include <string>
#include <vector>

#include "machine/cluster.h"

namespace troika {

/// Two computers, whose devices share a network card.
inline Machine with_shared_cards(std::size_t devices) {
  auto each = static_cast<std::int64_t>(devices / 2);
  return make_machine({.nodes = {{.count = 2, .devices = each, .ranks = each}},
                       .network = {.link = {1e8, {4000}}}});
}

/// Computers of two devices behind two switches, whose uplinks are narrow.
inline Machine with_narrow_uplinks(std::size_t devices) {
  auto nodes = static_cast<std::int64_t>(devices / 2);
  return make_machine(
      {.nodes = {{.count = nodes, .devices = 2, .ranks = 2}},
       .network = {
           .link = {1e9, {4000}}, .nodes_per_switch = (nodes + 1) / 2, .oversubscription = 4}});
}

/// Computers of two devices, every third with a slow link to the switch.
inline Machine with_unequal_links(std::size_t devices) {
  Cluster cluster{.nodes = {{.count = static_cast<std::int64_t>(devices / 2), .devices = 2}}};
  for (std::int64_t node = 0; node < cluster.nodes[0].count; ++node) {
    std::string name = cluster.nodes[0].count == 1 ? "node" : "node" + std::to_string(node);
    cluster.links.push_back({name, "switch", {node % 3 == 0 ? 1e8 : 1e9, {4000}, SimTime{500}}});
  }
  return make_machine(cluster);
}

/// Computers in a ring, so that there are two ways from each to the others.
inline Machine with_a_ring(std::size_t devices) {
  Cluster cluster{
      .nodes = {{.name = "n", .count = static_cast<std::int64_t>(devices / 2), .devices = 2}}};
  for (std::int64_t node = 0; node < cluster.nodes[0].count; ++node)
    cluster.links.push_back({"n" + std::to_string(node),
                             "n" + std::to_string((node + 1) % cluster.nodes[0].count),
                             {1e8, {4000}}});
  return make_machine(cluster);
}

/// Computers of two devices, of which nothing else is known.
inline Machine without_links(std::size_t devices) {
  Machine machine;
  for (std::size_t device = 0; device < devices; ++device)
    machine.devices.push_back(
        {.node = static_cast<std::int32_t>(device / 2), .rank = static_cast<std::int32_t>(device)});
  return machine;
}

/// All of them, for an even number of devices; a ring from 6 on.
inline std::vector<Machine> contended_machines(std::size_t devices) {
  std::vector<Machine> all{with_shared_cards(devices), with_narrow_uplinks(devices),
                           with_unequal_links(devices), without_links(devices)};
  if (devices >= 6) all.push_back(with_a_ring(devices));
  return all;
}

}  // namespace troika
