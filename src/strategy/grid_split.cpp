#include "strategy/grid_split.h"

#include <algorithm>

#include "base/error.h"
#include "strategy/split_check.h"

namespace troika {
namespace {

std::int64_t largest_divisor(std::int64_t number, std::int64_t limit) {
  for (std::int64_t divisor = std::min(number, limit); divisor > 1; --divisor)
    if (number % divisor == 0) return divisor;
  return 1;
}

std::int64_t degree_along(const std::vector<GridFactor>& factors, int axis) {
  std::int64_t degree = 1;
  for (const GridFactor& factor : factors)
    if (factor.axis == axis) degree *= factor.degree;
  return degree;
}

/// A device's place along an axis: the digits of the axis's factors, outermost first.
std::int64_t place_along(const std::vector<GridFactor>& factors, int axis, std::int64_t device) {
  std::int64_t place = 0, scale = 1;
  for (std::size_t at = factors.size(); at-- > 0;) {
    std::int64_t digit = device % factors[at].degree;
    device /= factors[at].degree;
    if (factors[at].axis != axis) continue;
    place += digit * scale;
    scale *= factors[at].degree;
  }
  return place;
}

void keep_shards(Split& split, const Axis& axis, std::int64_t shard) {
  auto found = split.degrees.find(axis.name);
  if (found == split.degrees.end() || shard == 1 || axis.extent % shard != 0) return;
  std::vector<std::int64_t> lengths = shard_lengths(axis.extent, shard, found->second);
  bool equal = true;
  for (std::size_t part = 0; part < lengths.size(); ++part)
    equal =
        equal && lengths[part] ==
                     part_of(axis.extent, static_cast<std::int64_t>(part), found->second).extent();
  if (!equal) split.weights[axis.name] = {lengths.begin(), lengths.end()};
}

}  // namespace

DeviceGrid first_devices(const Graph& graph, std::int64_t count) {
  DeviceGrid grid;
  for (std::int64_t device = 0; device < count; ++device)
    grid.devices.push_back(DeviceId(static_cast<std::size_t>(device)));
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    int axis = sample_axis(s);
    if (axis >= 0) grid.shard = std::max(grid.shard, s.axes[static_cast<std::size_t>(axis)].whole);
  }
  return grid;
}

std::vector<GridFactor> spend(const Signature& signature, std::vector<GridFactor> taken,
                              std::int64_t degree, const std::vector<int>& axes) {
  for (int axis : axes) {
    if (axis < 0) continue;
    std::int64_t extent = signature.axes[static_cast<std::size_t>(axis)].extent;
    std::int64_t part = largest_divisor(degree, extent / degree_along(taken, axis));
    if (part > 1) taken.push_back({axis, part});
    degree /= part;
  }
  if (degree > 1) taken.push_back({GridFactor::kReplicas, degree});
  return taken;
}

Split split_on(const DeviceGrid& grid, const Signature& signature,
               const std::vector<GridFactor>& factors) {
  Split split{.replicas = degree_along(factors, GridFactor::kReplicas), .devices = grid.devices};
  for (std::size_t axis = 0; axis < signature.axes.size(); ++axis) {
    std::int64_t degree = degree_along(factors, static_cast<int>(axis));
    if (degree > 1) split.degrees[signature.axes[axis].name] = degree;
  }
  for (std::size_t at = 0; at < grid.devices.size(); ++at) {
    auto device = static_cast<std::int64_t>(at);
    std::int64_t tile = 0;
    for (int axis = 0; axis < static_cast<int>(signature.axes.size()); ++axis)
      tile = tile * degree_along(factors, axis) + place_along(factors, axis, device);
    std::int64_t replica = place_along(factors, GridFactor::kReplicas, device);
    split.devices.at(static_cast<std::size_t>(tile * split.replicas + replica)) = grid.devices[at];
  }
  int samples = sample_axis(signature);
  if (samples >= 0)
    keep_shards(split, signature.axes[static_cast<std::size_t>(samples)], grid.shard);
  return split;
}

std::vector<std::int64_t> shard_lengths(std::int64_t extent, std::int64_t shard,
                                        std::int64_t parts) {
  std::int64_t shards = extent / shard;
  std::vector<std::int64_t> lengths;
  if (parts <= shards) {
    for (std::int64_t part = 0; part < parts; ++part)
      lengths.push_back(part_of(shards, part, parts).extent() * shard);
    return lengths;
  }
  for (std::int64_t at = 0; at < shards; ++at) {
    std::int64_t inside = part_of(parts, at, shards).extent();
    for (std::int64_t part = 0; part < inside; ++part)
      lengths.push_back(part_of(shard, part, inside).extent());
  }
  return lengths;
}

}  // namespace troika
