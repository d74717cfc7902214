#include "strategy/fixed_order_check.h"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "strategy/split_check.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

constexpr const char* kRule =
    "a fixed order needs {n: S} on every operator with samples, S a power of two, and S/P "
    "neighbouring tiles on each of devices 0 to P-1, in their order";

std::int64_t degree_of(const Split& split, const std::string& axis) {
  auto found = split.degrees.find(axis);
  return found == split.degrees.end() ? 1 : found->second;
}

/// Why this split is not {n: S}.
Reason why_other_split(const std::string& name, const Split& split, std::int64_t shards) {
  for (const auto& [axis, degree] : split.degrees) {
    if (axis != "n" && degree > 1)
      return fmt::format("operator '{}' is split {} ways along '{}', but {}", name, degree, axis,
                         kRule);
  }
  if (degree_of(split, "n") != shards)
    return fmt::format("operator '{}' is split {} ways along 'n', others {} ways, but {}", name,
                       degree_of(split, "n"), shards, kRule);
  if (split.replicas != 1 || !split.weights.empty())
    return fmt::format("operator '{}' has replicas or weights, but {}", name, kRule);
  return std::nullopt;
}

std::size_t devices_of(const Split& split) {
  return std::set<DeviceId>(split.devices.begin(), split.devices.end()).size();
}

/// Why tiles are not spread evenly and in order. Messages combine what their members bring in the
/// order of the devices, so that must be the order of the tiles.
Reason why_other_devices(const std::string& name, const Split& split, std::size_t devices) {
  std::size_t shards = split.devices.size(), used = devices_of(split);
  if (used != devices)
    return fmt::format("operator '{}' is on {} devices, others on {}, but {}", name, used, devices,
                       kRule);
  if (shards % used != 0)
    return fmt::format("operator '{}' has {} tiles on {} devices, which do not divide them, but {}",
                       name, shards, used, kRule);
  for (std::size_t tile = 0; tile < shards; ++tile) {
    std::size_t expected = tile / (shards / used);
    if (split.devices[tile].index() != expected)
      return fmt::format("operator '{}' has tile {} on device {}, not {}, but {}", name, tile,
                         split.devices[tile].value, expected, kRule);
  }
  return std::nullopt;
}

}  // namespace

Reason why_order_not_fixed(const Strategy& strategy, const Graph& graph) {
  if (strategy.micro_batches > 1)
    return fmt::format(
        "the batch is in {} micro-batches, but a fixed order adds up whole batches; take one",
        strategy.micro_batches);
  if (strategy.sync.sliced_update)
    return "updates are sliced, but in a fixed order every device updates whole parameters, with "
           "the kernels that one device would take; set sliced_update to false";
  std::int64_t shards = 0;
  std::size_t devices = 1;
  for (const Operator& op : graph.operators) {
    const Split& split = split_of(strategy, op.name);
    bool has_samples = sample_axis(signature(graph, op)) >= 0;
    if (has_samples && shards == 0) {
      shards = degree_of(split, "n");
      devices = devices_of(split);
    }
    if (auto reason = why_other_split(op.name, split, has_samples ? shards : 1)) return reason;
    if (auto reason = why_other_devices(op.name, split, has_samples ? devices : 1)) return reason;
  }
  if (shards > 0 && !std::has_single_bit(static_cast<std::uint64_t>(shards)))
    return fmt::format("the batch is in {} shards, but {}; {} or {} would do", shards, kRule,
                       std::bit_floor(static_cast<std::uint64_t>(shards)),
                       std::bit_ceil(static_cast<std::uint64_t>(shards)));
  return std::nullopt;
}

}  // namespace troika
