#include "strategy/tiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "strategy/cut_strategy.h"
#include "strategy/message_names.h"

namespace troika {
namespace {

void append_equal_parts(Range whole, std::int64_t parts, std::vector<Range>& ranges) {
  // As part_of, but with one division for all parts.
  std::int64_t size = whole.extent() / parts, larger = whole.extent() % parts;
  for (std::int64_t at = 0, begin = whole.begin; at < parts; ++at) {
    std::int64_t end = begin + size + (at < larger ? 1 : 0);
    ranges.push_back({begin, end});
    begin = end;
  }
}

void append_weighted_parts(Range whole, const std::vector<double>& weights,
                           std::vector<Range>& ranges) {
  double total = std::accumulate(weights.begin(), weights.end(), 0.0), passed = 0;
  std::int64_t begin = whole.begin;
  for (double weight : weights) {
    passed += weight;
    std::int64_t end =
        whole.begin + std::llround(static_cast<double>(whole.extent()) * passed / total);
    ranges.push_back({begin, end});
    begin = end;
  }
}

/// Multiplies the tiles so far by a factor inside them.
void append_coordinates(const Factor& factor, std::vector<std::int32_t>& devices) {
  if (factor.degree == 1) return;
  std::vector<std::int32_t> inner;
  inner.reserve(devices.size() * static_cast<std::size_t>(factor.degree));
  auto stride = static_cast<std::int32_t>(factor.stride);
  for (std::int32_t outer : devices)
    for (std::int32_t at = 0; at < factor.degree; ++at) inner.push_back(outer + at * stride);
  devices = std::move(inner);
}

std::vector<std::int32_t> device_numbers(const Signature& signature, const Split& split) {
  std::vector<std::int32_t> numbers;
  if (!is_view(split)) {
    TROIKA_CHECK_EQ(std::ssize(split.devices), tile_count(split) * replicas_of(split));
    numbers.reserve(split.devices.size());
    for (DeviceId device : split.devices) numbers.push_back(device.value);
    return numbers;
  }
  numbers = {static_cast<std::int32_t>(split.first)};
  auto append_factors_of = [&](const std::string& axis) {
    for (const Factor& factor : split.factors)
      if (factor.axis == axis) append_coordinates(factor, numbers);
  };
  for (const Axis& axis : signature.axes) append_factors_of(axis.name);
  append_factors_of("");
  return numbers;
}

/// The next place in row-major order; false after the last.
bool advance(std::vector<std::int64_t>& part, const std::vector<std::vector<Range>>& axes) {
  for (std::size_t axis = part.size(); axis-- > 0;) {
    if (++part[axis] < static_cast<std::int64_t>(axes[axis].size())) return true;
    part[axis] = 0;
  }
  return false;
}

}  // namespace

std::vector<Range> cut(Range whole, std::int64_t parts, const std::vector<double>& weights) {
  std::vector<Range> ranges;
  ranges.reserve(static_cast<std::size_t>(parts));
  if (weights.empty())
    append_equal_parts(whole, parts, ranges);
  else
    append_weighted_parts(whole, weights, ranges);
  return ranges;
}

std::vector<Range> parts_along(const Axis& axis, const Split& split, MicroBatch micro_batch) {
  Range whole{0, axis.extent};
  if (axis.name == "n" && axis.kind == AxisKind::sample && micro_batch.parts > 1)
    whole = part_of(axis.extent, micro_batch.part, micro_batch.parts);
  std::vector<Range> parts{whole};
  for (const Factor& factor : split.factors) {
    if (factor.axis != axis.name) continue;
    if (parts.size() == 1) {
      parts = cut(parts.front(), factor.degree, factor.weights);
      continue;
    }
    std::vector<Range> inner;
    for (Range outer : parts) {
      std::vector<Range> own = cut(outer, factor.degree, factor.weights);
      inner.insert(inner.end(), own.begin(), own.end());
    }
    parts = std::move(inner);
  }
  return parts;
}

TileMap map_tiles(const Signature& signature, const Split& split, MicroBatch micro_batch) {
  TileMap map{.device = device_numbers(signature, split), .replicas = replicas_of(split)};
  map.parts.reserve(signature.axes.size());
  for (const Axis& axis : signature.axes)
    map.parts.push_back(parts_along(axis, split, micro_batch));
  return map;
}

std::vector<Tile> tiles_of(const Signature& signature, const Split& split, MicroBatch micro_batch) {
  TileMap map = map_tiles(signature, split, micro_batch);
  std::vector<Tile> tiles;
  tiles.reserve(map.device.size());
  std::vector<std::int64_t> part(map.parts.size());
  do {
    Tile tile{.part = part};
    for (std::size_t axis = 0; axis < part.size(); ++axis)
      tile.box.ranges.push_back(map.parts[axis][static_cast<std::size_t>(part[axis])]);
    for (std::int64_t replica = 0; replica < map.replicas; ++replica) {
      tile.device = DeviceId(static_cast<std::size_t>(map.device[tiles.size()]));
      tiles.push_back(tile);
    }
  } while (advance(part, map.parts));
  return tiles;
}

std::vector<DeviceId> devices_of(const Signature& signature, const Split& split) {
  if (!is_view(split)) return split.devices;
  std::vector<DeviceId> devices;
  for (std::int32_t number : device_numbers(signature, split))
    devices.push_back(DeviceId(static_cast<std::size_t>(number)));
  return devices;
}

Strategy restricted(const Strategy& strategy, const Graph& graph) {
  Strategy own = strategy;
  LayerCuts cuts = layer_cuts(strategy, graph);
  std::erase_if(own.splits, [&](const auto& split) {
    return find_operator(graph, split.first) == nullptr && !is_projection_of(cuts, split.first);
  });
  auto is_missing = [&](const std::string& name) {
    return std::ranges::find(graph.parameters, name, &Parameter::name) == graph.parameters.end();
  };
  for (std::vector<std::string>& bucket : own.sync.buckets) std::erase_if(bucket, is_missing);
  std::erase_if(own.sync.buckets, [](const auto& bucket) { return bucket.empty(); });
  if (!own.sync.message_order.empty()) {
    Graph named = graph_of_messages(own, graph);
    MessageNames names(named, own.micro_batches);
    std::erase_if(own.sync.message_order,
                  [&](const std::string& name) { return names.why_none(name).has_value(); });
  }
  return own;
}

const Split& split_of(const Strategy& strategy, const std::string& op) {
  static const Split kWhole;
  auto found = strategy.splits.find(op);
  return found == strategy.splits.end() ? kWhole : found->second;
}

}  // namespace troika
