#include "config/load_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/suggest.h"
#include "config/cluster_keys.h"
#include "config/run_config.h"
#include "machine/route.h"

namespace troika {
namespace {

using namespace config;

void check_node(const Cluster& cluster, std::size_t row, Reader& reader) {
  const NodeSpec& node = cluster.nodes[row];
  auto has_name = [&](const NodeSpec& other) { return other.name == node.name; };
  if (std::any_of(cluster.nodes.begin(), cluster.nodes.begin() + std::ptrdiff_t(row), has_name))
    reader.refuse_together({row_path("nodes", row)},
                           fmt::format("two kinds of nodes are called '{}'; give each its own name",
                                       printable(node.name)));
  if (node.devices % node.ranks != 0)
    reader.refuse_together({row_path("nodes", row)},
                           fmt::format("{} processes of node '{}' cannot share its {} devices "
                                       "evenly; make 'devices' a multiple of 'ranks'",
                                       node.ranks, printable(node.name), node.devices));
}

void check_nodes(const Cluster& cluster, Reader& reader) {
  std::int64_t devices = 0;
  for (std::size_t row = 0; row < cluster.nodes.size(); ++row) {
    check_node(cluster, row, reader);
    devices += cluster.nodes[row].count * cluster.nodes[row].devices;
  }
  if (cluster.nodes.empty()) reader.refuse_together({"nodes"}, "[[nodes]] lists no nodes; add one");
  // Each device is an object in memory, so a typing error must not ask for billions of them.
  if (devices > kMostDevices)
    reader.refuse_together({"nodes"},
                           fmt::format("the nodes have {} devices, but a run has at most {}; "
                                       "reduce 'count' or 'devices'",
                                       devices, kMostDevices));
}

/// Nodes of two kinds, or a node and a device, may get the same name: n1 is the second of the nodes
/// "n" and the only node "n1". A link could mean either.
void check_endpoint_names(const std::vector<std::string>& names, Reader& reader) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    return reader.refuse_together(
        {"nodes"}, fmt::format("two nodes or devices are called '{}'; rename a kind of nodes",
                               printable(name)));
  }
}

/// The links that name an endpoint.
struct Mention {
  std::size_t first = 0;
  int count = 0;
};

std::map<std::string, Mention> mentions_of(const Cluster& cluster, Reader& reader) {
  std::map<std::string, Mention> mentions;
  for (std::size_t row = 0; row < cluster.links.size(); ++row) {
    const NamedLink& link = cluster.links[row];
    for (const std::string& name : {link.from, link.to})
      ++mentions.try_emplace(name, Mention{.first = row}).first->second.count;
    if (link.from == link.to)
      reader.refuse_together({row_path("links", row)},
                             fmt::format("a link joins '{}' with itself; correct 'from' or 'to'",
                                         printable(link.from)));
  }
  return mentions;
}

/// A name with one link that is neither a node nor a device is probably a typing error.
void check_link_names(const Cluster& cluster, const std::vector<std::string>& names,
                      Reader& reader) {
  const std::set<std::string_view> known(names.begin(), names.end());
  // Each takes a comparison with all names, and there may be thousands of both.
  int suggestions_left = 5;
  for (const auto& [name, mention] : mentions_of(cluster, reader)) {
    if (mention.count > 1 || known.contains(name)) continue;
    auto near = suggestions_left-- > 0 ? closest(name, names) : std::nullopt;
    reader.refuse_together(
        {row_path("links", mention.first)},
        fmt::format("'{}' in [[links]] has only one link and is neither a node nor a device{}",
                    printable(name),
                    near ? fmt::format("; did you mean '{}'?", printable(*near)) : ""));
  }
}

/// The overhead of a message is a part of its latency.
void check_speed(const LinkSpeed& speed, const std::string& path, Reader& reader) {
  if (!speed.overhead || *speed.overhead <= speed.latency) return;
  reader.refuse_together(
      {path}, fmt::format("an overhead of {} ns is longer than the latency of {} ns, of which it "
                          "is a part; reduce 'overhead'",
                          speed.overhead->count, speed.latency.count));
}

void check_speeds(const Cluster& cluster, Reader& reader) {
  check_speed(cluster.node_link, "node_link", reader);
  check_speed(cluster.network.link, "network", reader);
  for (std::size_t row = 0; row < cluster.links.size(); ++row)
    check_speed(cluster.links[row].speed, row_path("links", row), reader);
}

void check_cluster(const Cluster& cluster, Reader& reader) {
  // Each check relies on the ones before it: names of endpoints on good nodes, routes on good
  // links.
  check_nodes(cluster, reader);
  check_speeds(cluster, reader);
  if (!reader.complaints().empty()) return;
  if (!cluster.links.empty() && reader.is_stated("network"))
    reader.refuse_together({"network", "links"},
                           "both [network] and [[links]] are given; remove one of them");
  const std::vector<std::string> names = endpoint_names(cluster);
  check_endpoint_names(names, reader);
  check_link_names(cluster, names, reader);
  if (!reader.complaints().empty()) return;
  if (auto reason = why_unconnected(make_machine(cluster)))
    reader.refuse_together({"links", "nodes"}, on_one_line(*reason) + "; add links");
}

}  // namespace

Cluster parse_cluster(std::string_view text, const std::string& path) {
  auto fail = [&](const std::vector<Complaint>& complaints) {
    throw Error(ErrorKind::usage, report(complaints, path));
  };
  auto parsed = parse_toml(text, Source::file);
  if (auto error = std::get_if<SyntaxError>(&parsed)) fail({{error->where, error->message}});
  Reader reader(cluster_paths());
  Cluster cluster;
  read_table(std::get<Table>(parsed), "", cluster_keys(), cluster, reader);
  if (reader.complaints().empty()) check_cluster(cluster, reader);
  if (!reader.complaints().empty()) fail(reader.complaints());
  return cluster;
}

Cluster load_cluster(const std::string& path) { return parse_cluster(read_text(path), path); }

bool looks_like_cluster(std::string_view text) {
  auto parsed = parse_toml(text, Source::file);
  auto table = std::get_if<Table>(&parsed);
  auto has = [&](std::string_view key) { return find(*table, key) != nullptr; };
  bool is_run = table && (has("model") || has("data") || has("train"));
  return table && !is_run && (has("nodes") || has("node_link") || has("network") || has("links"));
}

bool is_cluster_file(const std::string& path) {
  try {
    return looks_like_cluster(read_text(path));
  } catch (const Error&) {
    return false;
  }
}

std::string_view cluster_template() {
  return R"(# A Troika cluster file: machines to plan for, which need not be reachable.
name = "two racks"

# One kind of node; repeat [[nodes]] for further kinds. Nodes are called gpu0, gpu1, ... (just
# gpu if there is one), their devices gpu0.0, gpu0.1, ...
[[nodes]]
name = "gpu"
count = 8                     # equal nodes
devices = 4                   # of each node
ranks = 1                     # processes of each node, which share its devices evenly
kind = "cuda sm90"            # what kernel times depend on; as in costs.json
memory = "80GiB"              # of each device
flops = "40Tflops"            # matrix products of each device
memory_bandwidth = "3000GB/s" # of each device

[node_link]                   # between devices of a node
bandwidth = "300GB/s"         # in each direction; also "100Gbps"
latency = "2us"               # of an empty message
# overhead = "500ns"          # the part of it for which the message occupies the link; default: a quarter

[network]                     # between nodes
bandwidth = "100Gbps"
latency = "10us"
# overhead = "2us"
nodes_per_switch = 4          # 0: one switch for all
oversubscription = 2.0        # bandwidth of the nodes of a switch, divided by that of its uplink

# Instead of [network]: links one by one, between nodes, devices, and switches of any name.
# [[links]]
# from = "gpu0"
# to = "spine"
# bandwidth = "400Gbps"
# latency = "1us"
# overhead = "250ns"
)";
}

}  // namespace troika
