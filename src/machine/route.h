// The way of a message over the links of a machine.
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

/// The way with the least latency, of several the one with the fewest hops, then the one over links
/// that come first. Empty from a device to itself; nothing where no way leads.
std::optional<Route> route_between(const Machine& machine, DeviceId from, DeviceId to);

/// Why some devices cannot reach each other, or a link makes no sense. Nothing when all is well, or
/// when nothing is known of links.
[[nodiscard]] std::optional<std::string> why_unconnected(const Machine& machine);

}  // namespace troika
