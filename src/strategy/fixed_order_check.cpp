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

/// Why this split is not {n: S}.
Reason why_other_split(const std::string& name, const Split& split, std::int64_t shards) {
  for (const Factor& factor : split.factors) {
    if (!factor.axis.empty() && factor.axis != "n" && factor.degree > 1)
      return fmt::format("operator '{}' is split {} ways along '{}', but {}", name,
                         degree_along(split, factor.axis), factor.axis, kRule);
  }
  if (degree_along(split, "n") != shards)
    return fmt::format("operator '{}' is split {} ways along 'n', others {} ways, but {}", name,
                       degree_along(split, "n"), shards, kRule);
  if (replicas_of(split) != 1 || has_weights(split))
    return fmt::format("operator '{}' has replicas or weights, but {}", name, kRule);
  return std::nullopt;
}

/// Why the tiles depend on the number of devices: cut in two steps, unequal ones do.
Reason why_other_tiles(const std::string& name, const Split& split, const Axis& samples) {
  std::int64_t shards = degree_along(split, "n");
  if (parts_along(samples, split, {}) == cut({0, samples.extent}, shards, {})) return std::nullopt;
  return fmt::format(
      "operator '{}' is split along 'n' in several steps, which {} tiles of {} samples do not "
      "allow "
      "because they are unequal, but {}",
      name, shards, samples.extent, kRule);
}

/// Why tiles are not spread evenly and in order. Messages combine what their members bring in the
/// order of the devices, so that must be the order of the tiles.
Reason why_other_devices(const std::string& name, const std::vector<DeviceId>& of_tiles,
                         std::size_t devices) {
  std::size_t shards = of_tiles.size();
  std::size_t used = std::set<DeviceId>(of_tiles.begin(), of_tiles.end()).size();
  if (used != devices)
    return fmt::format("operator '{}' is on {} devices, others on {}, but {}", name, used, devices,
                       kRule);
  if (shards % used != 0)
    return fmt::format("operator '{}' has {} tiles on {} devices, which do not divide them, but {}",
                       name, shards, used, kRule);
  for (std::size_t tile = 0; tile < shards; ++tile) {
    std::size_t expected = tile / (shards / used);
    if (of_tiles[tile].index() != expected)
      return fmt::format("operator '{}' has tile {} on device {}, not {}, but {}", name, tile,
                         of_tiles[tile].value, expected, kRule);
  }
  return std::nullopt;
}

}  // namespace

Reason why_order_not_fixed(const Strategy& strategy, const IndexedGraph& index) {
  if (strategy.micro_batches > 1)
    return fmt::format(
        "the batch is in {} micro-batches, but a fixed order adds up whole batches; take one",
        strategy.micro_batches);
  if (strategy.sync.sliced_update)
    return "updates are sliced, but in a fixed order every device updates whole parameters, with "
           "the kernels that one device would take; set sliced_update to false";
  std::int64_t shards = 0;
  std::size_t devices = 1;
  for (std::size_t at = 0; at < index.signatures.size(); ++at) {
    const Operator& op = index.graph.operators[at];
    const Split& split = split_of(strategy, op.name);
    const Signature& s = index.signatures[at];
    int samples = sample_axis(s);
    bool has_samples = samples >= 0;
    if (has_samples && shards == 0) {
      shards = degree_along(split, "n");
      devices = devices_used(split).size();
    }
    if (auto reason = why_other_split(op.name, split, has_samples ? shards : 1)) return reason;
    if (has_samples)
      if (auto reason = why_other_tiles(op.name, split, s.axes[static_cast<std::size_t>(samples)]))
        return reason;
    if (auto reason = why_other_devices(op.name, devices_of(s, split), has_samples ? devices : 1))
      return reason;
  }
  if (shards > 0 && !std::has_single_bit(static_cast<std::uint64_t>(shards)))
    return fmt::format("the batch is in {} shards, but {}; {} or {} would do", shards, kRule,
                       std::bit_floor(static_cast<std::uint64_t>(shards)),
                       std::bit_ceil(static_cast<std::uint64_t>(shards)));
  return std::nullopt;
}

}  // namespace troika
