#include "strategy/place_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace troika {
namespace {

using Reason = std::optional<std::string>;

Reason why_counts_wrong(const std::string& op, const Split& split, const SplitTerms& terms) {
  std::int64_t tiles = tile_count(split), replicas = replicas_of(split);
  if (replicas < 1 || replicas > terms.devices)
    return fmt::format("operator '{}' has {} replicas; 1 to {} fit, each on a device of its own",
                       op, replicas, terms.devices);
  // Both are known to fit into 63 bits, their product only after this.
  if (tiles > kMostTiles / replicas)
    return fmt::format("operator '{}' has {} tiles in {} replicas; {} in all is the limit", op,
                       tiles, replicas, kMostTiles);
  auto listed = static_cast<std::int64_t>(split.devices.size());
  if (is_view(split) || tiles * replicas == listed) return std::nullopt;
  return replicas == 1
             ? fmt::format("operator '{}' has {} tiles but {} devices; list one for each tile", op,
                           tiles, listed)
             : fmt::format(
                   "operator '{}' has {} tiles in {} replicas but {} devices; list {}, those of "
                   "one tile next to each other",
                   op, tiles, replicas, listed, tiles * replicas);
}

Reason why_strides_wrong(const std::string& op, const Split& split) {
  bool has_place = split.first != 0;
  for (const Factor& factor : split.factors) {
    has_place = has_place || factor.stride != 1;
    if (factor.stride < 0)
      return fmt::format("operator '{}' has the stride {}; strides are 0 or more", op,
                         factor.stride);
  }
  if (has_place && !is_view(split))
    return fmt::format(
        "operator '{}' lists its devices, so that a first device and strides have no effect; leave "
        "out either them or the list",
        op);
  return std::nullopt;
}

std::string placed_outside(const std::string& op, std::int64_t device, std::int64_t devices) {
  return fmt::format("operator '{}' is placed on device {}, but the run has {} {}, counted from 0",
                     op, device, devices, devices == 1 ? "device" : "devices");
}

Reason why_devices_missing(const SplitSubject& subject, const Split& split,
                           const SplitTerms& terms) {
  auto is_outside = [&](DeviceId device) {
    return !device.valid() || static_cast<std::int64_t>(device.index()) >= terms.devices;
  };
  if (is_view(split)) {
    if (split.first < 0) return placed_outside(subject.op->name, split.first, terms.devices);
    std::int64_t largest = largest_device(split);
    if (largest < terms.devices) return std::nullopt;
    if (largest > std::numeric_limits<std::int32_t>::max())
      return placed_outside(subject.op->name, largest, terms.devices);
  }
  // The first tile that is outside is named, as it is for a list.
  std::vector<DeviceId> devices = devices_of(*subject.signature, split);
  auto found = std::ranges::find_if(devices, is_outside);
  if (found == devices.end()) return std::nullopt;
  return placed_outside(subject.op->name, found->value, terms.devices);
}

/// Whether each coordinate of these factors has a device of its own because every stride reaches
/// beyond all that the smaller ones can add up to. False if that alone does not tell.
bool are_apart(std::vector<Factor> factors) {
  std::ranges::sort(factors, {}, &Factor::stride);
  std::int64_t reach = 0;
  for (const Factor& factor : factors) {
    if (factor.degree == 1) continue;
    if (factor.stride <= reach) return false;
    reach += (factor.degree - 1) * factor.stride;
  }
  return true;
}

/// The replicas of a tile are on the devices of tile 0, shifted.
Split replicas_of_first_tile(const Split& split) {
  Split first{.first = split.first};
  std::ranges::copy_if(split.factors, std::back_inserter(first.factors),
                       [](const Factor& factor) { return factor.axis.empty(); });
  return first;
}

Reason why_replicas_meet(const SplitSubject& subject, const Split& split) {
  std::int64_t replicas = replicas_of(split);
  if (replicas == 1) return std::nullopt;
  Split checked = is_view(split) ? replicas_of_first_tile(split) : split;
  if (is_view(split) && are_apart(checked.factors)) return std::nullopt;
  std::vector<DeviceId> devices = devices_of(*subject.signature, checked);
  // By device: the last tile that it has, counted from 1.
  std::vector<std::int64_t> last(std::ranges::max(devices).index() + 1);
  for (std::size_t at = 0; at < devices.size(); ++at) {
    std::int64_t tile = static_cast<std::int64_t>(at) / replicas;
    std::int64_t& seen = last[devices[at].index()];
    if (seen == tile + 1)
      return fmt::format(
          "operator '{}' has two replicas of tile {} on device {}; each needs a device of its "
          "own",
          subject.op->name, tile, devices[at].value);
    seen = tile + 1;
  }
  return std::nullopt;
}

}  // namespace

Reason why_places_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  if (auto reason = why_counts_wrong(subject.op->name, split, terms)) return reason;
  if (auto reason = why_strides_wrong(subject.op->name, split)) return reason;
  if (auto reason = why_devices_missing(subject, split, terms)) return reason;
  return why_replicas_meet(subject, split);
}

}  // namespace troika
