// The route of a message over the links of a machine.
#pragma once

#include <optional>
#include <vector>

#include "machine/machine.h"

namespace troika {

struct Hop {
  LinkId link;
  bool forward = true;  ///< From Link::a to Link::b.

  bool operator==(const Hop&) const = default;
};

struct Route {
  std::vector<Hop> hops;
  LinkSpeed speed;  ///< The rate of the slowest link and the latencies of all.

  bool operator==(const Route&) const = default;
};

/// Returns the route with the least latency, then the fewest hops, then the links that come first.
/// It has no hops from a device to itself. Returns nothing if there is no route.
std::optional<Route> route_between(const Machine& machine, DeviceId from, DeviceId to);

/// Returns why some devices cannot reach each other or a link is invalid. Returns nothing if all is
/// well, or if the machine lists no links.
[[nodiscard]] std::optional<std::string> why_unconnected(const Machine& machine);

}  // namespace troika
