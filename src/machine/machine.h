// The devices and links of a cluster, as data, so that plans can be made for absent hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace troika {

using DeviceId = Id<struct DeviceTag>;
using LinkId = Id<struct LinkTag>;

struct DeviceSpec {
  std::string name;
  std::string kind;  ///< Backend, instruction set, threads, library: what kernel times depend on.
  Bytes memory{};    ///< 0: not known.
  double flops_per_second = 1e11;  ///< Matrix products, of a device of this kind.
  double bytes_per_second = 1e10;  ///< Reads and writes of long vectors.
  double slowdown = 1;             ///< Times of its kernels, as a multiple of those of its kind.
  std::int32_t node = 0;           ///< The computer it is in,
  std::int32_t rank = 0;           ///< and the process that drives it.

  bool operator==(const DeviceSpec&) const = default;
};

/// The speed of a link in each direction; both can be used at the same time.
struct LinkSpeed {
  double bytes_per_second = 1e10;
  SimTime latency{};  ///< Of an empty message.
  /// The part of it for which the message occupies the link, so that others wait; see overhead_of.
  std::optional<SimTime> overhead{};

  bool operator==(const LinkSpeed&) const = default;
};

/// The share of a latency that is taken as overhead where nobody has measured or stated it.
constexpr double kAssumedOverheadShare = 0.25;
/// The stated overhead, or the assumed share of the latency.
SimTime overhead_of(const LinkSpeed& speed);
/// Returns how long a message of so many bytes occupies the link.
SimTime occupied_time(const LinkSpeed& speed, Bytes bytes);

/// Joins two endpoints of a machine. Endpoints are numbered: the devices first, by their DeviceId,
/// then the hubs.
struct Link {
  std::int32_t a = 0;
  std::int32_t b = 0;
  LinkSpeed speed{};

  bool operator==(const Link&) const = default;
};

struct Machine {
  std::vector<DeviceSpec> devices;
  /// Names of points where links meet: the inside of a node, a switch.
  std::vector<std::string> hubs{};
  std::vector<Link> links{};  ///< Empty: unknown.
  /// Cores that no device uses run a thread beside each device, which moves its messages while it
  /// computes.
  bool moves_beside = false;

  const DeviceSpec& operator[](DeviceId id) const { return devices[id.index()]; }
  const Link& operator[](LinkId id) const { return links[id.index()]; }
  bool operator==(const Machine&) const = default;
};

/// Nodes are numbered from 0.
std::int32_t node_count(const Machine& machine);
std::vector<DeviceId> devices_of_node(const Machine& machine, std::int32_t node);

/// The devices of each process, by rank.
std::vector<std::vector<DeviceId>> devices_by_rank(const Machine& machine);

/// By device: equal numbers for those of one kind and rates, on which a kernel takes equally long,
/// measured or not, but for their slowdown. Numbers follow each other as they first occur.
std::vector<std::int32_t> number_kinds(const Machine& machine);

/// The time of a kernel on the device, from that on a device of its kind.
SimTime time_on(const DeviceSpec& device, SimTime of_kind);

/// The least time that a device needs for this arithmetic and memory traffic (the roofline).
SimTime roofline_time(const DeviceSpec& device, Flops flops, Bytes bytes);

}  // namespace troika
