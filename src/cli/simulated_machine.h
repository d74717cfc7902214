// The machine that a plan is simulated on: a cluster file, what the plan says, or this computer;
// with more devices or other links on request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/link_costs.h"
#include "machine/cluster.h"

namespace troika::cli {

struct SimulatedMachine {
  Machine machine;
  LinkCosts links;
};

/// A change of the machine by --what-if, such as "link=100Gbps" or "memory=16GiB".
struct MachineWish {
  double bytes_per_second = 0;  ///< Of links between nodes. 0: as it is.
  SimTime latency{-1};          ///< Negative: as it is.
  std::int64_t devices = 0;     ///< 0: as many as there are.
  Bytes memory{};               ///< Of each device. 0: as it is.

  bool changes_links() const { return bytes_per_second != 0 || latency >= SimTime{}; }
};
/// Throws Error(usage) for other names and values.
MachineWish parse_wish(const std::vector<std::string>& words);

/// The machine with as much memory on each device as the wish says.
Machine with_memory(Machine machine, const MachineWish& wish);

/// The cluster with so many devices: more nodes of each kind in the same proportion, or fewer
/// devices of one node. Throws Error(usage) if that does not come out even, or if the cluster lists
/// its links one by one.
Cluster with_devices(Cluster cluster, std::int64_t devices);

/// Changes the links between nodes or, in a cluster of one node, those between its devices.
Cluster with_links(Cluster cluster, const MachineWish& wish);
/// The same for costs of messages. Throws Error(usage) if all devices share one computer, because
/// no link is between them.
LinkCosts with_links(LinkCosts costs, const MachineWish& wish, const Machine& machine);

/// The costs of messages that follow from the speeds of a cluster's links.
LinkCosts link_costs_of(const Cluster& cluster);

}  // namespace troika::cli
