#include "machine/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace troika {
namespace {

/// How a place is best reached, so far.
struct Arrival {
  std::int64_t latency = std::numeric_limits<std::int64_t>::max();
  std::int64_t hops = 0;
  Hop last{};
  bool settled = false;

  auto rank() const { return std::tuple(latency, hops); }
};

std::size_t place_count(const Machine& machine) {
  return machine.devices.size() + machine.hubs.size();
}

/// Dijkstra's algorithm (doi:10.1007/BF01386390) from one device to all places.
std::vector<Arrival> arrivals_from(const Machine& machine, DeviceId from) {
  std::vector<Arrival> arrivals(place_count(machine));
  arrivals[from.index()].latency = 0;
  while (true) {
    std::size_t here = arrivals.size();
    for (std::size_t place = 0; place < arrivals.size(); ++place) {
      bool open = !arrivals[place].settled && arrivals[place].rank() < Arrival{}.rank();
      if (open && (here == arrivals.size() || arrivals[place].rank() < arrivals[here].rank()))
        here = place;
    }
    if (here == arrivals.size()) return arrivals;
    arrivals[here].settled = true;
    for (std::size_t at = 0; at < machine.links.size(); ++at) {
      const Link& link = machine.links[at];
      bool forward = static_cast<std::size_t>(link.a) == here;
      if (!forward && static_cast<std::size_t>(link.b) != here) continue;
      Arrival next{arrivals[here].latency + link.speed.latency.count,
                   arrivals[here].hops + 1,
                   {LinkId(at), forward}};
      Arrival& known = arrivals[static_cast<std::size_t>(forward ? link.b : link.a)];
      if (next.rank() < known.rank()) known = next;
    }
  }
}

std::size_t place_before(const Machine& machine, Hop hop) {
  const Link& link = machine[hop.link];
  return static_cast<std::size_t>(hop.forward ? link.a : link.b);
}

}  // namespace

std::optional<Route> route_between(const Machine& machine, DeviceId from, DeviceId to) {
  std::vector<Arrival> arrivals = arrivals_from(machine, from);
  const Arrival& end = arrivals[to.index()];
  if (!end.settled) return std::nullopt;
  Route route{.speed = {std::numeric_limits<double>::infinity(), {end.latency}}};
  for (std::size_t place = to.index(); place != from.index();) {
    Hop hop = arrivals[place].last;
    route.hops.push_back(hop);
    route.speed.bytes_per_second =
        std::min(route.speed.bytes_per_second, machine[hop.link].speed.bytes_per_second);
    place = place_before(machine, hop);
  }
  std::ranges::reverse(route.hops);
  return route;
}

std::optional<std::string> why_unconnected(const Machine& machine) {
  if (machine.links.empty() || machine.devices.empty()) return std::nullopt;
  for (const Link& link : machine.links) {
    auto places = static_cast<std::int64_t>(place_count(machine));
    if (std::min(link.a, link.b) < 0 || std::max(link.a, link.b) >= places || link.a == link.b)
      return fmt::format("a link joins places {} and {}, but the machine has {}", link.a, link.b,
                         places);
    if (!(link.speed.bytes_per_second > 0) || link.speed.latency.count < 0)
      return fmt::format("the link between places {} and {} has no speed", link.a, link.b);
  }
  std::vector<Arrival> arrivals = arrivals_from(machine, DeviceId(std::size_t{0}));
  for (std::size_t device = 0; device < machine.devices.size(); ++device) {
    if (!arrivals[device].settled)
      return fmt::format("no links lead from '{}' to '{}'", machine.devices[0].name,
                         machine.devices[device].name);
  }
  return std::nullopt;
}

}  // namespace troika
