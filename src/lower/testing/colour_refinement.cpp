#include "lower/testing/colour_refinement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "machine/route.h"

namespace troika {
namespace {

/// A graph with texts at its vertices and edges.
class LabelledGraph {
 public:
  std::size_t add(std::string label) {
    labels_.push_back(std::move(label));
    neighbours_.emplace_back();
    return labels_.size() - 1;
  }
  /// `label` says what `to` is for `from`, and the other way round what `from` is for `to`.
  void join(std::size_t from, std::size_t to, const std::string& label) {
    neighbours_[from].emplace_back(label + ">", to);
    neighbours_[to].emplace_back(label + "<", from);
  }

  /// Numbers of the classes of vertices.
  std::vector<std::size_t> refine() const {
    std::vector<std::size_t> colours = numbered(labels_);
    for (std::size_t before = 0; before != count(colours);) {
      before = count(colours);
      using Seen = std::pair<std::size_t, std::vector<std::pair<std::string, std::size_t>>>;
      std::vector<Seen> seen;
      for (std::size_t vertex = 0; vertex < colours.size(); ++vertex) {
        seen.emplace_back(colours[vertex], neighbours_[vertex]);
        for (auto& [label, neighbour] : seen.back().second) neighbour = colours[neighbour];
        std::ranges::sort(seen.back().second);
      }
      colours = numbered(seen);
    }
    return colours;
  }

 private:
  static std::size_t count(const std::vector<std::size_t>& colours) {
    return std::set(colours.begin(), colours.end()).size();
  }
  /// Equal values get equal numbers, smaller values smaller ones.
  template <class T>
  static std::vector<std::size_t> numbered(const std::vector<T>& values) {
    std::map<T, std::size_t> numbers;
    for (const T& value : values) numbers[value];
    std::size_t next = 0;
    for (auto& [value, number] : numbers) number = next++;
    std::vector<std::size_t> result;
    result.reserve(values.size());
    for (const T& value : values) result.push_back(numbers.at(value));
    return result;
  }

  std::vector<std::string> labels_;
  std::vector<std::vector<std::pair<std::string, std::size_t>>> neighbours_;
};

/// The endpoints that are connected with `start` by other links than `without`.
std::set<std::int32_t> reached_from(const Machine& machine, std::int32_t start,
                                    std::size_t without) {
  std::set<std::int32_t> reached{start};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (std::size_t at = 0; at < machine.links.size(); ++at) {
      const Link& link = machine.links[at];
      if (at == without || !(reached.contains(link.a) || reached.contains(link.b))) continue;
      reached.insert(link.a);
      reached.insert(link.b);
    }
  }
  return reached;
}

/// Whether each link is the only way between its ends.
bool is_tree(const Machine& machine) {
  for (std::size_t at = 0; at < machine.links.size(); ++at)
    if (reached_from(machine, machine.links[at].a, at).contains(machine.links[at].b)) return false;
  return true;
}

/// The parts of the members that send over the links forwards and backwards.
using Sent = std::pair<std::multiset<std::string>, std::multiset<std::string>>;

std::map<std::size_t, Sent> crossed_in_tree(const Machine& machine,
                                            const RefinementFacts::Communication& communication) {
  std::map<std::size_t, Sent> crossed;
  for (std::size_t at = 0; at < machine.links.size(); ++at) {
    std::set<std::int32_t> side = reached_from(machine, machine.links[at].a, at);
    Sent sent;
    for (const auto& [device, part] : communication.members)
      (side.contains(static_cast<std::int32_t>(device)) ? sent.first : sent.second).insert(part);
    if (!sent.first.empty() && !sent.second.empty()) crossed[at] = sent;
  }
  return crossed;
}

std::map<std::size_t, Sent> crossed_by_ring(const Machine& machine,
                                            const RefinementFacts::Communication& communication) {
  std::map<std::size_t, Sent> crossed;
  const auto& members = communication.members;
  for (std::size_t at = 0; at < members.size(); ++at) {
    auto route = route_between(machine, DeviceId(members[at].device),
                               DeviceId(members[(at + 1) % members.size()].device));
    for (const Hop& hop : route->hops) {
      Sent& sent = crossed[hop.link.index()];
      (hop.forward ? sent.first : sent.second).insert(members[at].part);
    }
  }
  return crossed;
}

/// Builds the graph; each vertex once, when it is first mentioned.
class GraphOfFacts {
 public:
  GraphOfFacts(const Machine& machine, const RefinementFacts& facts)
      : machine_(machine), facts_(facts), is_tree_(is_tree(machine)) {
    for (const std::string& device : facts.devices) graph_.add("device " + device);
    for (std::size_t at = 0; at < machine.hubs.size(); ++at) graph_.add("hub");
    for (std::size_t at = 0; at < facts.communications.size(); ++at) add_communication(at);
  }

  std::vector<std::size_t> classes_of_devices() const {
    std::vector<std::size_t> classes = graph_.refine();
    classes.resize(machine_.devices.size());
    return classes;
  }

 private:
  std::size_t vertex(const std::string& label, const std::vector<std::size_t>& name) {
    auto [found, is_new] = vertices_.try_emplace({label, name});
    if (is_new) found->second = graph_.add(label);
    return found->second;
  }
  void join_once(std::size_t from, std::size_t to, const std::string& label) {
    if (joined_.insert({from, to, label}).second) graph_.join(from, to, label);
  }

  void add_communication(std::size_t number) {
    const auto& communication = facts_.communications[number];
    std::size_t whole = vertex("communication " + communication.shape, {number});
    for (const auto& [device, part] : communication.members) {
      auto node = static_cast<std::size_t>(machine_.devices[device].node);
      auto process = static_cast<std::size_t>(machine_.devices[device].rank);
      std::size_t in_node = vertex("members in a node", {number, node});
      std::size_t in_process = vertex("members in a process", {number, node, process});
      join_once(in_node, whole, "communication");
      join_once(in_process, in_node, "node");
      graph_.join(device, in_process, part);
      join_once(device, vertex("node", {node}), "in");
      join_once(device, vertex("process", {process}), "in");
    }
    auto crossed = is_tree_ ? crossed_in_tree(machine_, communication)
                            : crossed_by_ring(machine_, communication);
    for (const auto& [link, sent] : crossed) {
      auto [forward, backward] = directions(link);
      graph_.join(whole, forward, fmt::format("{}", fmt::join(sent.first, " ")));
      graph_.join(whole, backward, fmt::format("{}", fmt::join(sent.second, " ")));
    }
  }

  std::pair<std::size_t, std::size_t> directions(std::size_t number) {
    const Link& link = machine_.links[number];
    std::string label = fmt::format("link {} {} {}", link.speed.bytes_per_second,
                                    link.speed.latency.count, overhead_of(link.speed).count);
    std::size_t forward = vertex(label, {number, 0}), backward = vertex(label, {number, 1});
    auto a = static_cast<std::size_t>(link.a), b = static_cast<std::size_t>(link.b);
    join_once(a, forward, "from"), join_once(b, forward, "to");
    join_once(b, backward, "from"), join_once(a, backward, "to");
    join_once(forward, backward, "opposite"), join_once(backward, forward, "opposite");
    return {forward, backward};
  }

  const Machine& machine_;
  const RefinementFacts& facts_;
  bool is_tree_;
  LabelledGraph graph_;
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::size_t> vertices_;
  std::set<std::tuple<std::size_t, std::size_t, std::string>> joined_;
};

std::string text_of(const DeviceSpec& device) {
  return fmt::format("{} {} {} {} {}", device.kind, device.flops_per_second,
                     device.bytes_per_second, device.memory.count, device.slowdown);
}

}  // namespace

Classes refine_naively(const Machine& machine, const RefinementFacts& facts) {
  Classes classes;
  std::map<std::size_t, std::int32_t> numbers;  // class → its number by first device
  for (std::size_t found : GraphOfFacts(machine, facts).classes_of_devices()) {
    auto [number, is_new] = numbers.try_emplace(found, classes.count());
    if (is_new) {
      classes.first.push_back(static_cast<std::int32_t>(classes.of_device.size()));
      classes.size.push_back(0);
    }
    classes.of_device.push_back(number->second);
    ++classes.size[as_index(number->second)];
  }
  return classes;
}

RefinementFacts facts_of(const Machine& machine, std::span<const Aspect* const> aspects) {
  RefinementFacts facts;
  for (const DeviceSpec& device : machine.devices) facts.devices.push_back(text_of(device));
  for (std::size_t aspect = 0; aspect < aspects.size(); ++aspect) {
    for (std::size_t i = 0; i < aspects[aspect]->own.size(); ++i)
      facts.devices[i] += fmt::format(", {}: {}", aspect, aspects[aspect]->own[i]);
    for (const Exchanges& exchanges : aspects[aspect]->exchanges) {
      std::size_t at = 0;
      for (std::int32_t end : exchanges.ends) {
        facts.communications.push_back({fmt::format("{}: {}", aspect, exchanges.shape), {}});
        for (; at < as_index(end); ++at)
          facts.communications.back().members.push_back(
              {as_index(exchanges.members[at].device), std::to_string(exchanges.members[at].part)});
      }
    }
  }
  return facts;
}

}  // namespace troika
