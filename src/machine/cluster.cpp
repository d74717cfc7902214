#include "machine/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace troika {
namespace {

std::string node_name(const NodeSpec& node, std::int64_t index) {
  return node.count == 1 ? node.name : fmt::format("{}{}", node.name, index);
}

/// Half the latency: a message passes two such links. It occupies both of them at once.
LinkSpeed half_way(LinkSpeed speed) {
  return {speed.bytes_per_second, {speed.latency.count / 2}, overhead_of(speed)};
}

/// Builds a machine from its description, device by device and hub by hub.
class Layout {
 public:
  explicit Layout(const Cluster& cluster) : cluster_(cluster) {}

  // All devices first: endpoints are numbered devices before hubs.
  Machine build() {
    for (const NodeSpec& node : cluster_.nodes) add_devices(node);
    for (const NodeSpec& node : cluster_.nodes) add_node_hubs(node);
    if (!cluster_.links.empty())
      add_named_links();
    else if (node_hubs_.size() > 1)
      add_switches();
    return std::move(machine_);
  }

 private:
  void add_devices(const NodeSpec& node) {
    for (std::int64_t index = 0; index < node.count; ++index) {
      for (std::int64_t at = 0; at < node.devices; ++at) {
        std::string name = fmt::format("{}.{}", node_name(node, index), at);
        endpoints_[name] = static_cast<std::int32_t>(machine_.devices.size());
        machine_.devices.push_back(
            {.name = name,
             .kind = node.kind,
             .memory = node.memory,
             .flops_per_second = node.flops_per_second,
             .bytes_per_second = node.bytes_per_second,
             .node = nodes_,
             // Consecutive devices share a rank, as evenly as possible.
             .rank = static_cast<std::int32_t>(ranks_ + at * node.ranks / node.devices)});
      }
      ++nodes_;
      ranks_ += node.ranks;
    }
  }

  std::int32_t add_hub(const std::string& name) {
    auto endpoint = static_cast<std::int32_t>(machine_.devices.size() + machine_.hubs.size());
    machine_.hubs.push_back(name);
    return endpoints_[name] = endpoint;
  }

  void add_node_hubs(const NodeSpec& node) {
    for (std::int64_t index = 0; index < node.count; ++index) {
      std::string name = node_name(node, index);
      std::int32_t hub = add_hub(name);
      node_hubs_.push_back(hub);
      for (std::int64_t at = 0; at < node.devices; ++at)
        machine_.links.push_back(
            {endpoints_.at(fmt::format("{}.{}", name, at)), hub, half_way(cluster_.node_link)});
    }
  }

  // A name that is neither a node nor a device is a switch, made when it is first mentioned.
  void add_named_links() {
    for (const NamedLink& link : cluster_.links) {
      for (const std::string& end : {link.from, link.to})
        if (!endpoints_.contains(end)) add_hub(end);
      machine_.links.push_back({endpoints_.at(link.from), endpoints_.at(link.to), link.speed});
    }
  }

  // A tree of two levels: leaf switches, and a top switch if there are several of them.
  void add_switches() {
    const NetworkSpec& network = cluster_.network;
    auto nodes = static_cast<std::int64_t>(node_hubs_.size());
    std::int64_t each = network.nodes_per_switch == 0 ? nodes : network.nodes_per_switch;
    std::vector<std::int32_t> switches;
    for (std::int64_t node = 0; node < nodes; ++node) {
      if (node % each == 0) switches.push_back(add_hub(fmt::format("switch {}", node / each)));
      machine_.links.push_back(
          {node_hubs_[static_cast<std::size_t>(node)], switches.back(), half_way(network.link)});
    }
    if (switches.size() == 1) return;
    std::int32_t top = add_hub("top switch");
    LinkSpeed up = half_way(network.link);
    // The uplink has the bandwidth of its nodes together, divided by the oversubscription.
    up.bytes_per_second *= static_cast<double>(each) / network.oversubscription;
    for (std::int32_t leaf : switches) machine_.links.push_back({leaf, top, up});
  }

  const Cluster& cluster_;
  Machine machine_;
  std::map<std::string, std::int32_t> endpoints_;
  std::vector<std::int32_t> node_hubs_;
  std::int32_t nodes_ = 0;
  std::int64_t ranks_ = 0;
};

}  // namespace

Machine make_machine(const Cluster& cluster) { return Layout(cluster).build(); }

std::vector<std::string> endpoint_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NodeSpec& node : cluster.nodes) {
    for (std::int64_t index = 0; index < node.count; ++index) {
      names.push_back(node_name(node, index));
      for (std::int64_t at = 0; at < node.devices; ++at)
        names.push_back(fmt::format("{}.{}", node_name(node, index), at));
    }
  }
  return names;
}

}  // namespace troika
