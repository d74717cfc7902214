#include "config/testing/cluster_text.h"

#include <fmt/format.h>

#include "config/toml_text.h"

namespace troika::config {
namespace {

/// In bits, whose factor is a power of two, so that no digit is lost.
std::string speed_text(const LinkSpeed& speed) {
  std::string overhead =
      speed.overhead ? fmt::format("overhead = \"{}ns\"\n", speed.overhead->count) : "";
  return fmt::format("bandwidth = \"{}bps\"\nlatency = \"{}ns\"\n{}", speed.bytes_per_second * 8,
                     speed.latency.count, overhead);
}

std::string node_text(const NodeSpec& node) {
  return fmt::format(
      "[[nodes]]\nname = {}\ncount = {}\ndevices = {}\nranks = {}\nkind = {}\nmemory = \"{}\"\n"
      "flops = \"{}flops\"\nmemory_bandwidth = \"{}bps\"\n",
      toml_text(node.name), node.count, node.devices, node.ranks, toml_text(node.kind),
      node.memory.count, node.flops_per_second, node.bytes_per_second * 8);
}

}  // namespace

std::string cluster_text(const Cluster& cluster) {
  std::string text = fmt::format("name = {}\n", toml_text(cluster.name));
  for (const NodeSpec& node : cluster.nodes) text += node_text(node);
  text += "[node_link]\n" + speed_text(cluster.node_link);
  for (const NamedLink& link : cluster.links)
    text += fmt::format("[[links]]\nfrom = {}\nto = {}\n{}", toml_text(link.from),
                        toml_text(link.to), speed_text(link.speed));
  if (!cluster.links.empty()) return text;
  return text + fmt::format("[network]\n{}nodes_per_switch = {}\noversubscription = {}\n",
                            speed_text(cluster.network.link), cluster.network.nodes_per_switch,
                            toml_text(cluster.network.oversubscription));
}

}  // namespace troika::config
