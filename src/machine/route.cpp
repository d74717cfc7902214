#include "machine/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace troika {
namespace {

/// The best known way to an endpoint.
struct Arrival {
  std::int64_t latency = std::numeric_limits<std::int64_t>::max();
  std::int64_t hops = 0;
  Hop last{};
  bool settled = false;

  auto rank() const { return std::tuple(latency, hops); }
};

std::size_t endpoint_count(const Machine& machine) {
  return machine.devices.size() + machine.hubs.size();
}

/// The links that begin at each endpoint.
std::vector<std::vector<Hop>> hops_of(const Machine& machine) {
  std::vector<std::vector<Hop>> hops(endpoint_count(machine));
  for (std::size_t at = 0; at < machine.links.size(); ++at) {
    hops[static_cast<std::size_t>(machine.links[at].a)].push_back({LinkId(at), true});
    hops[static_cast<std::size_t>(machine.links[at].b)].push_back({LinkId(at), false});
  }
  return hops;
}

/// Dijkstra's algorithm (doi:10.1007/BF01386390) from one device to all endpoints.
std::vector<Arrival> arrivals_from(const Machine& machine, DeviceId from) {
  std::vector<std::vector<Hop>> hops = hops_of(machine);
  std::vector<Arrival> arrivals(hops.size());
  using Open = std::tuple<std::int64_t, std::int64_t, std::size_t>;  // Latency, hops, endpoint.
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  arrivals[from.index()].latency = 0;
  open.push({0, 0, from.index()});
  while (!open.empty()) {
    std::size_t here = std::get<2>(open.top());
    open.pop();
    // An endpoint may be queued several times; only its best entry counts.
    if (std::exchange(arrivals[here].settled, true)) continue;
    for (Hop hop : hops[here]) {
      const Link& link = machine[hop.link];
      auto there = static_cast<std::size_t>(hop.forward ? link.b : link.a);
      Arrival next{arrivals[here].latency + link.speed.latency.count, arrivals[here].hops + 1, hop};
      // On a tie the first one found stays, so the route does not depend on chance.
      if (arrivals[there].settled || next.rank() >= arrivals[there].rank()) continue;
      arrivals[there] = next;
      open.push({next.latency, next.hops, there});
    }
  }
  return arrivals;
}

/// Where a hop starts.
std::size_t endpoint_before(const Machine& machine, Hop hop) {
  const Link& link = machine[hop.link];
  return static_cast<std::size_t>(hop.forward ? link.a : link.b);
}

}  // namespace

std::optional<Route> route_between(const Machine& machine, DeviceId from, DeviceId to) {
  std::vector<Arrival> arrivals = arrivals_from(machine, from);
  const Arrival& end = arrivals[to.index()];
  if (!end.settled) return std::nullopt;
  Route route{.speed = {std::numeric_limits<double>::infinity(), {end.latency}}};
  // Backwards along the last hops.
  for (std::size_t endpoint = to.index(); endpoint != from.index();) {
    Hop hop = arrivals[endpoint].last;
    route.hops.push_back(hop);
    route.speed.bytes_per_second =
        std::min(route.speed.bytes_per_second, machine[hop.link].speed.bytes_per_second);
    endpoint = endpoint_before(machine, hop);
  }
  std::ranges::reverse(route.hops);
  return route;
}

std::optional<std::string> why_unconnected(const Machine& machine) {
  if (machine.links.empty() || machine.devices.empty()) return std::nullopt;
  for (const Link& link : machine.links) {
    auto endpoints = static_cast<std::int64_t>(endpoint_count(machine));
    if (std::min(link.a, link.b) < 0 || std::max(link.a, link.b) >= endpoints || link.a == link.b)
      return fmt::format("a link joins endpoints {} and {}, but the machine has {}", link.a, link.b,
                         endpoints);
    if (!(link.speed.bytes_per_second > 0) || link.speed.latency.count < 0)
      return fmt::format("the link between endpoints {} and {} has no speed", link.a, link.b);
  }
  // Links work in both directions, so one start is enough.
  std::vector<Arrival> arrivals = arrivals_from(machine, DeviceId(std::size_t{0}));
  for (std::size_t device = 0; device < machine.devices.size(); ++device) {
    if (!arrivals[device].settled)
      return fmt::format("no links lead from '{}' to '{}'", machine.devices[0].name,
                         machine.devices[device].name);
  }
  return std::nullopt;
}

}  // namespace troika
