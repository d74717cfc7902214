#include "search/move_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/hash.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

/// Nanoseconds per byte over all links that join an endpoint of the set with one outside. In both
/// directions a link is equally fast.
double time_per_byte_into(const Machine& machine, const std::set<std::int32_t>& inside) {
  double rate = 0;
  for (const Link& link : machine.links)
    if (inside.contains(link.a) != inside.contains(link.b)) rate += link.speed.bytes_per_second;
  return rate > 0 && std::isfinite(rate) ? 1e9 / rate : 0;
}

/// The devices of a node, and the hubs that these are linked to.
std::set<std::int32_t> endpoints_of(const Machine& machine, std::int32_t node) {
  std::set<std::int32_t> made;
  for (DeviceId device : devices_of_node(machine, node)) made.insert(device.value);
  auto devices = std::ssize(machine.devices);
  for (const Link& link : machine.links) {
    if (link.b >= devices && made.contains(link.a) && link.a < devices) made.insert(link.b);
    if (link.a >= devices && made.contains(link.b) && link.b < devices) made.insert(link.a);
  }
  return made;
}

/// Elements of the largest part of `wanted` that is in none of the boxes; parts may overlap.
double missing(const std::vector<Region>& wanted, const std::vector<Region>& there) {
  std::int64_t most = 0;
  for (const Region& box : wanted) {
    std::int64_t elements = 0;
    for (const Region& rest : subtract(box, there)) elements += rest.elements();
    most = std::max(most, elements);
  }
  return static_cast<double>(most);
}

bool overlap(const std::vector<Region>& wanted, const std::vector<Region>& there) {
  auto meets = [&](const Region& one) {
    return std::ranges::any_of(there,
                               [&](const Region& other) { return !intersect(one, other).empty(); });
  };
  return std::ranges::any_of(wanted, meets);
}

}  // namespace

MoveBounds::MoveBounds(const IndexedGraph& index, const Machine& machine, const LinkCosts& links)
    : index_(index),
      machine_(machine),
      holdings_(index, machine, links),
      into_device_(machine.devices.size()),
      into_node_(as_index(node_count(machine))) {
  Network network(machine, links);
  // Measured times of messages need not be at least those by the rate of the link.
  bool is_by_rate =
      links.measured.empty() && (!machine.links.empty() || links.network.message_times.empty());
  if (!is_by_rate) return;
  const Machine& linked = network.machine();
  for (std::size_t device = 0; device < into_device_.size(); ++device)
    into_device_[device] = time_per_byte_into(linked, {static_cast<std::int32_t>(device)});
  for (std::size_t node = 0; node < into_node_.size(); ++node)
    into_node_[node] =
        time_per_byte_into(linked, endpoints_of(linked, static_cast<std::int32_t>(node)));
}

TileHolding MoveBounds::holding_of(std::size_t op, int slot, const Split& split, bool is_partial) {
  std::vector<std::int32_t> devices = map_tiles(index_.signatures[op], split, {}).device;
  std::ranges::sort(devices);
  bool is_spread = std::ranges::adjacent_find(devices) == devices.end();
  return {holdings_.holding_of(op, slot, split, is_partial), is_spread};
}

MoveBounds::Lacking MoveBounds::lacking(std::size_t device, const TileHolding& from,
                                        const TileHolding& to) const {
  const Holding& have = holdings_[from.id];
  const std::vector<Region>& wanted = holdings_[to.id].of_device[device];
  std::vector<Region> in_node;
  std::int64_t terms_in_node = 0;
  for (std::size_t other = 0; other < machine_.devices.size(); ++other) {
    const std::vector<Region>& there = have.of_device[other];
    if (machine_.devices[other].node != machine_.devices[device].node) continue;
    in_node.insert(in_node.end(), there.begin(), there.end());
    if (overlap(wanted, there)) ++terms_in_node;
  }
  if (!to.is_spread) return {};  // one of its tiles may need less than the other
  if (have.terms == 1) return {missing(wanted, have.of_device[device]), missing(wanted, in_node)};
  if (!from.is_spread) return {};
  // A device has one term of an element at most, and a node one for each of its devices.
  double all = missing(wanted, {});
  return {all, terms_in_node < have.terms ? all : 0};
}

SimTime MoveBounds::find(const TileHolding& from, const TileHolding& to, Bytes element) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t device = 0; device < machine_.devices.size(); ++device) {
    if (holdings_[to.id].of_device[device].empty()) continue;
    Lacking elements = lacking(device, from, to);
    auto node = as_index(machine_.devices[device].node);
    least = std::min(
        least, std::max(elements.device * into_device_[device], elements.node * into_node_[node]));
  }
  if (!std::isfinite(least)) return {};
  return {static_cast<std::int64_t>(least * static_cast<double>(element.count))};
}

SimTime MoveBounds::move_time(const TileHolding& from, const TileHolding& to, Bytes element) {
  std::uint64_t name = mix(mix(mix(static_cast<std::uint64_t>(from.id), from.is_spread ? 1 : 0),
                               static_cast<std::uint64_t>(to.id)),
                           static_cast<std::uint64_t>(element.count));
  auto [known, is_new] = known_.try_emplace(name);
  if (is_new) known->second = find(from, to, element);
  return known->second;
}

}  // namespace troika
