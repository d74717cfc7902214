#include "config/cluster_keys.h"

#include "base/error.h"
#include "config/key_kinds.h"
#include "machine/speed_text.h"

namespace troika::config {
namespace {

constexpr std::int64_t kMostNodes = 65536;
constexpr std::int64_t kMostNodeDevices = 1024;

/// A key that is written as a text with a unit.
template <class S, class M>
Key<S> with_unit(M S::*member, const Label& label, const std::string& allowed,
                 std::function<std::optional<M>(std::string_view)> parse,
                 std::function<std::string(const M&)> print) {
  auto read = [parse = std::move(parse)](const Value& value) {
    auto text = text_in(value);
    return text ? parse(*text) : std::nullopt;
  };
  return scalar(member, label, {allowed, read, [print = std::move(print)](const M& stored) {
                                  return toml_text(print(stored));
                                }});
}

template <class S>
Key<S> rate(double S::*member, const Label& label) {
  return with_unit<S, double>(member, label, "a rate such as \"10Gbps\" or \"32GB/s\"", parse_rate,
                              rate_text);
}

std::optional<Bytes> parse_memory(std::string_view text) {
  try {
    return parse_bytes(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string print_time(const SimTime& time) { return std::to_string(time.count) + "ns"; }

const KeyTable<LinkSpeed>& speed_keys() {
  static const KeyTable<LinkSpeed> kKeys{{
      required(rate(&LinkSpeed::bytes_per_second, {"bandwidth", "bandwidth in each direction"})),
      with_unit<LinkSpeed, SimTime>(&LinkSpeed::latency, {"latency", "latency of an empty message"},
                                    "a time such as \"20us\" or \"500ns\"", parse_latency,
                                    print_time),
      scalar(
          &LinkSpeed::overhead,
          {"overhead",
           "part of the latency for which the message occupies the link; unset: a quarter of it"},
          {"a time such as \"5us\" or \"200ns\"",
           [](const Value& value) {
             auto text = text_in(value);
             return text ? parse_latency(*text) : std::nullopt;
           },
           print_time}),
  }};
  return kKeys;
}

/// The keys of a link, in a table that also has other keys.
template <class S>
void add_speed(KeyTable<S>& table, LinkSpeed S::*member) {
  for (const Key<LinkSpeed>& inner : speed_keys().keys) {
    Key<S> key{.label = inner.label, .allowed = inner.allowed, .is_required = inner.is_required};
    key.read = [=](const Value& value, const std::string& path, S& target, Reader& reader) {
      return inner.read(value, path, target.*member, reader);
    };
    key.reset = [=](S& target) { inner.reset(target.*member); };
    key.list = [=](const S& from, const Entry& entry, std::vector<Entry>& entries) {
      inner.list(from.*member, entry, entries);
    };
    table.keys.push_back(key);
  }
}

const KeyTable<NodeSpec>& node_keys() {
  using S = NodeSpec;
  constexpr const char* kMemory = "a size such as \"64GiB\"";
  static const KeyTable<S> kKeys{{
      required(full_text(
          &S::name, {"name", "name of the node; several equal nodes are called gpu0, gpu1, …"})),
      integer(&S::count, {"count", "number of equal nodes"}, {.min = 1, .max = kMostNodes}),
      integer(&S::devices, {"devices", "devices per node"}, {.min = 1, .max = kMostNodeDevices}),
      integer(&S::ranks, {"ranks", "processes per node; they share its devices evenly"},
              {.min = 1, .max = kMostNodeDevices}),
      text(&S::kind, {"kind", "kind of the devices, as in costs.json; kernel times depend on it"}),
      with_unit<S, Bytes>(&S::memory, {"memory", "memory per device; 0: unknown"}, kMemory,
                          parse_memory,
                          [](const Bytes& bytes) { return std::to_string(bytes.count); }),
      with_unit<S, double>(&S::flops_per_second, {"flops", "speed of matrix products per device"},
                           "a speed such as \"100Gflops\" or \"1.5Tflops\"", parse_flops,
                           flops_text),
      rate(&S::bytes_per_second, {"memory_bandwidth", "memory bandwidth per device"}),
  }};
  return kKeys;
}

const KeyTable<NetworkSpec>& network_keys() {
  static const KeyTable<NetworkSpec> kKeys = [] {
    KeyTable<NetworkSpec> table;
    add_speed(table, &NetworkSpec::link);
    table.keys.push_back(
        integer(&NetworkSpec::nodes_per_switch,
                {"nodes_per_switch", "nodes that share a switch; 0: one switch for all"},
                {.min = 0, .max = kMostNodes}));
    table.keys.push_back(
        number(&NetworkSpec::oversubscription,
               {"oversubscription",
                "bandwidth of all nodes of a switch, divided by the bandwidth of its uplink"},
               {.min = 1, .max = kMostNodes}));
    return table;
  }();
  return kKeys;
}

const KeyTable<NamedLink>& link_keys() {
  static const KeyTable<NamedLink> kKeys = [] {
    KeyTable<NamedLink> table{
        {required(full_text(&NamedLink::from, {"from", "a node, a device or a switch"})),
         required(full_text(&NamedLink::to, {"to", "other end of the link"}))}};
    add_speed(table, &NamedLink::speed);
    return table;
  }();
  return kKeys;
}

}  // namespace

const KeyTable<Cluster>& cluster_keys() {
  static const KeyTable<Cluster> kKeys{{
      full_text(&Cluster::name, {"name", "name of the cluster"}),
      required(rows(&Cluster::nodes,
                    {"nodes", "kinds of nodes; repeat [[nodes]] for several kinds"}, node_keys())),
      nested(&Cluster::node_link, {"node_link", "links between the devices of a node"},
             speed_keys()),
      nested(&Cluster::network, {"network", "links between nodes"}, network_keys()),
      rows(&Cluster::links, {"links", "individual links, instead of [network]"}, link_keys()),
  }};
  return kKeys;
}

std::vector<std::string> cluster_paths() {
  std::vector<std::string> paths{"name"};
  auto add = [&](const std::string& section, const auto& table) {
    for (const auto& key : table.keys) paths.push_back(join_path(section, key.label.name));
  };
  add("nodes", node_keys());
  add("node_link", speed_keys());
  add("network", network_keys());
  add("links", link_keys());
  return paths;
}

}  // namespace troika::config
