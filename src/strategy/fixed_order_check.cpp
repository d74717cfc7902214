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
    "neighbouring tiles on each of P devices";

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

/// Why tiles are not spread evenly and in order.
Reason why_other_devices(const std::string& name, const Split& split) {
  std::set<DeviceId> used(split.devices.begin(), split.devices.end());
  std::size_t shards = split.devices.size(), each = shards / used.size();
  if (shards % used.size() != 0)
    return fmt::format("operator '{}' has {} tiles on {} devices, which do not divide them, but {}",
                       name, shards, used.size(), kRule);
  for (std::size_t tile = 0; tile < shards; ++tile) {
    if (split.devices[tile] != split.devices[tile / each * each])
      return fmt::format("operator '{}' has tile {} away from its neighbours, on device {}, but {}",
                         name, tile, split.devices[tile].value, kRule);
  }
  return std::nullopt;
}

}  // namespace

Reason why_order_not_fixed(const Strategy& strategy, const Graph& graph) {
  if (strategy.micro_batches > 1)
    return fmt::format(
        "the batch is in {} micro-batches, but a fixed order adds up whole batches; take one",
        strategy.micro_batches);
  std::int64_t shards = 0;
  for (const Operator& op : graph.operators) {
    const Split& split = split_of(strategy, op.name);
    bool has_samples = sample_axis(signature(graph, op)) >= 0;
    if (has_samples && shards == 0) shards = degree_of(split, "n");
    if (auto reason = why_other_split(op.name, split, has_samples ? shards : 1)) return reason;
    if (auto reason = why_other_devices(op.name, split)) return reason;
  }
  if (shards > 0 && !std::has_single_bit(static_cast<std::uint64_t>(shards)))
    return fmt::format("the batch is in {} shards, but {}; {} or {} would do", shards, kRule,
                       std::bit_floor(static_cast<std::uint64_t>(shards)),
                       std::bit_ceil(static_cast<std::uint64_t>(shards)));
  return std::nullopt;
}

}  // namespace troika
