#include "cost/placements.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/hash.h"
#include "cost/phase_costs.h"

namespace troika {
namespace {

/// Of a collective with more phases than this, the messages of all distances that begin with the
/// same power of two are counted as at that one: else the effort would grow with the square of the
/// members.
constexpr std::size_t kMostCounted = 1024;

int counted_distance(const Placements::AskedPhase& asked) {
  bool is_counted = asked.phases.phases.size() <= kMostCounted;
  if (is_counted || asked.phase.exchange != Exchange::around) return asked.phase.distance;
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(asked.phase.distance)));
}

}  // namespace

std::size_t Placements::DevicesHash::operator()(const std::vector<std::int32_t>& devices) const {
  std::uint64_t hash = devices.size();
  for (std::int32_t device : devices) hash = mix(hash, static_cast<std::uint32_t>(device));
  return hash;
}

Placements::Placements(const Network& network)
    : network_(network),
      below_(network.machine().devices.size() + network.machine().hubs.size()),
      root_below_(below_.size()),
      sent_(network.directed_links()),
      group_of_(sent_.size(), -1) {}

Placement& Placements::of(std::span<const std::int32_t> devices, bool is_rooted) {
  std::vector<std::int32_t> key(devices.begin(), devices.end());
  if (is_rooted) key.push_back(-1);
  std::unique_ptr<Placement>& known = known_[std::move(key)];
  if (!known) known = std::make_unique<Placement>(find(devices, is_rooted));
  return *known;
}

Placement Placements::find(std::span<const std::int32_t> devices, bool is_rooted) {
  Placement made{.devices{devices.begin(), devices.end()}};
  if (devices.size() < 2 || sent_.empty()) return made;
  groups_.clear();
  if (network_.tree())
    find_in_tree(made, is_rooted);
  else
    find_by_ring(made);
  return made;
}

/// A link cuts a tree in two, and is crossed if there are members on both sides.
void Placements::find_in_tree(Placement& made, bool is_rooted) {
  const LinkTree& tree = *network_.tree();
  const Machine& machine = network_.machine();
  auto all = static_cast<std::int32_t>(made.devices.size());
  std::vector<std::int32_t> touched;
  for (std::size_t member = 0; member < made.devices.size(); ++member) {
    for (std::int32_t at = made.devices[member]; at >= 0; at = tree.parent[as_index(at)]) {
      if (below_[as_index(at)]++ == 0) touched.push_back(at);
      if (is_rooted && member == 0) root_below_[as_index(at)] = true;
    }
  }
  for (std::int32_t at : touched) {
    std::int32_t link = tree.link[as_index(at)];
    std::int32_t below = below_[as_index(at)];
    if (link < 0 || below == all || !network_.is_occupied(link)) continue;
    const Link& own = machine.links[as_index(link)];
    bool to_device = as_index(std::min(own.a, own.b)) < machine.devices.size();
    std::int32_t speed = network_.speed_of(link);
    bool has_root = root_below_[as_index(at)] != 0;
    add_link(made, {speed, below, has_root, to_device}, directed_link(link, own.a == at));
    add_link(made, {speed, all - below, is_rooted && !has_root, to_device},
             directed_link(link, own.b == at));
  }
  for (std::int32_t at : touched) below_[as_index(at)] = 0, root_below_[as_index(at)] = false;
}

/// With several ways between devices, classes are found for messages from each member to the next
/// (lower/crossings.h), so these are the links that are loaded, whatever the algorithm.
void Placements::find_by_ring(Placement& made) {
  std::vector<std::int32_t> touched;
  for (std::size_t at = 0; at < made.devices.size(); ++at) {
    std::int32_t to = made.devices[(at + 1) % made.devices.size()];
    for (const Hop& hop : hops_between(made.devices[at], to)) {
      std::int32_t link = directed_link(hop.link.value, hop.forward);
      if (sent_[as_index(link)]++ == 0) touched.push_back(link);
    }
  }
  for (std::int32_t link : touched)
    add_link(made,
             {network_.speed_of(link / 2), static_cast<std::int32_t>(sent_[as_index(link)]), false,
              false},
             link);
  for (std::int32_t link : touched) sent_[as_index(link)] = 0;
}

const std::vector<Hop>& Placements::hops_between(std::int32_t from, std::int32_t to) {
  auto [found, is_new] = routes_.try_emplace({from, to});
  if (is_new)
    if (auto route =
            route_between(network_.machine(), DeviceId(as_index(from)), DeviceId(as_index(to))))
      found->second = std::move(route->hops);
  return found->second;
}

void Placements::add_link(Placement& made, const GroupName& name, std::int32_t directed) {
  auto [found, is_new] = groups_.try_emplace(name, static_cast<std::int32_t>(made.groups.size()));
  if (is_new) made.groups.push_back({.speed = std::get<0>(name), .senders = std::get<1>(name)});
  made.groups[as_index(found->second)].links.push_back(directed);
}

const PhaseTraffic& Placements::traffic(Placement& placement, const AskedPhase& asked) {
  const CollectivePhase& phase = asked.phase;
  auto [found, is_new] =
      placement.known.try_emplace({asked.call.kind, asked.algorithm, asked.call.order, phase.group,
                                   phase.exchange, counted_distance(asked)});
  if (is_new) found->second = find_traffic(placement, asked);
  return found->second;
}

PhaseTraffic Placements::find_traffic(const Placement& placement, const AskedPhase& asked) {
  PhaseTraffic made{.kind = slowest_link(asked.call, asked.phases, asked.phase)};
  if (placement.groups.empty()) return made;
  if (network_.tree()) {
    count_in_tree(placement, asked, made);
  } else if (made.kind == LinkKind::network) {
    for (std::size_t at = 0; at < placement.groups.size(); ++at) {
      const LinkGroup& group = placement.groups[at];
      made.crossed.push_back({static_cast<std::int32_t>(at), group.senders});
      const LinkSpeed& speed = network_.machine().links[as_index(group.links[0] / 2)].speed;
      made.latency =
          std::max(made.latency, network_.free_latency(speed.latency, overhead_of(speed)));
    }
  }
  return made;
}

void Placements::count_in_tree(const Placement& placement, const AskedPhase& asked,
                               PhaseTraffic& made) {
  for (std::size_t at = 0; at < placement.groups.size(); ++at)
    for (std::int32_t link : placement.groups[at].links)
      group_of_[as_index(link)] = static_cast<std::int32_t>(at);
  CollectivePhase counted = asked.phase;
  counted.distance = counted_distance(asked);
  for_each_send(asked.phases, counted, [&](int from, int to) {
    send(placement.devices[as_index(from)], placement.devices[as_index(to)], made);
    return true;
  });
  for (std::size_t at = 0; at < placement.groups.size(); ++at) {
    std::int64_t most = 0;
    for (std::int32_t link : placement.groups[at].links) {
      most = std::max(most, std::exchange(sent_[as_index(link)], 0));
      group_of_[as_index(link)] = -1;
    }
    if (most > 0) made.crossed.push_back({static_cast<std::int32_t>(at), most});
  }
}

/// Counts a message on its way, up to where the branches of the tree meet.
void Placements::send(std::int32_t from, std::int32_t to, PhaseTraffic& made) {
  const LinkTree& tree = *network_.tree();
  SimTime latencies{}, overhead{};
  bool crosses = false;
  while (from != to) {
    bool climbs = tree.depth[as_index(from)] >= tree.depth[as_index(to)];
    std::int32_t& end = climbs ? from : to;
    std::int32_t link = tree.link[as_index(end)];
    const Link& own = network_.machine().links[as_index(link)];
    std::int32_t directed = directed_link(link, (own.a == end) == climbs);
    end = tree.parent[as_index(end)];
    latencies += own.speed.latency;
    if (group_of_[as_index(directed)] < 0) continue;
    crosses = true;
    overhead = std::max(overhead, overhead_of(own.speed));
    ++sent_[as_index(directed)];
  }
  if (crosses) made.latency = std::max(made.latency, network_.free_latency(latencies, overhead));
}

}  // namespace troika
