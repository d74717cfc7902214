// A cluster as cluster.toml describes it, and the machine made from it.
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
  std::int64_t devices = 1;  ///< Devices of each node.
  std::int64_t ranks = 1;    ///< Processes of each node; they share its devices evenly.
  std::string kind;
  Bytes memory{};  ///< Memory of each device. The rates below are per device too.
  double flops_per_second = 1e11;
  double bytes_per_second = 1e10;

  bool operator==(const NodeSpec&) const = default;
};

/// Every node is connected to a switch; several switches are connected by one more.
struct NetworkSpec {
  LinkSpeed link{.bytes_per_second = 1.25e9, .latency = {20'000}};  ///< From node to node.
  std::int64_t nodes_per_switch = 0;                                ///< 0: one switch for all.
  /// Bandwidth of all nodes of a switch, divided by that of its link to other switches.
  double oversubscription = 1;

  bool operator==(const NetworkSpec&) const = default;
};

/// A link between two endpoints by name: a node, a device, or otherwise a switch.
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
  std::vector<NamedLink> links{};  ///< If not empty, used instead of the network.

  bool operator==(const Cluster&) const = default;
};

/// Links each device to the inside of its node, and the nodes by the network or the named links. A
/// latency from device to device is divided among the links on its route.
Machine make_machine(const Cluster& cluster);

/// The names of nodes and devices, which a NamedLink may refer to.
std::vector<std::string> endpoint_names(const Cluster& cluster);

}  // namespace troika
