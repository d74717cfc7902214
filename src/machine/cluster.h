// A cluster as people describe it, which cluster.toml holds, and the machine it stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace troika {

/// Equal nodes with equal devices. The nodes are called NAME0, NAME1, … (NAME if there is one), and
/// their devices NODE.0, NODE.1, …
struct NodeSpec {
  std::string name = "node";
  std::int64_t count = 1;
  std::int64_t devices = 1;  ///< Of each node.
  std::int64_t ranks = 1;    ///< Processes of each node; they share its devices evenly.
  std::string kind;
  Bytes memory{};  ///< Of each device, as are the following.
  double flops_per_second = 1e11;
  double bytes_per_second = 1e10;

  bool operator==(const NodeSpec&) const = default;
};

/// Every node on a switch; where there are several switches, all of them on one more.
struct NetworkSpec {
  LinkSpeed link{.bytes_per_second = 1.25e9, .latency = {20'000}};  ///< From node to node.
  std::int64_t nodes_per_switch = 0;                                ///< 0: one switch for all.
  /// What the nodes of a switch can send together, over what it can pass on to other switches.
  double oversubscription = 1;

  bool operator==(const NetworkSpec&) const = default;
};

/// Between two places by name: a node, a device, or else a switch.
struct NamedLink {
  std::string from;
  std::string to;
  LinkSpeed speed{};

  bool operator==(const NamedLink&) const = default;
};

struct Cluster {
  std::string name = "cluster";
  std::vector<NodeSpec> nodes;
  LinkSpeed node_link{.bytes_per_second = 1e10, .latency = {500}};  ///< Between devices of a node.
  NetworkSpec network{};
  std::vector<NamedLink> links{};  ///< If there are any, they are there instead of the network.

  bool operator==(const Cluster&) const = default;
};

/// Devices by node, each linked to the inside of its node, and the nodes by the network or the
/// links. A latency from device to device is shared out over the links that lead there.
Machine make_machine(const Cluster& cluster);

/// The names that a NamedLink may mean: nodes and devices.
std::vector<std::string> place_names(const Cluster& cluster);

}  // namespace troika
