#include "strategy/tiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace troika {
namespace {

/// The ranges that an axis is cut into.
std::vector<Range> parts_of(const Axis& axis, const Split& split, MicroBatch micro_batch) {
  Range whole{0, axis.extent};
  if (axis.name == "n" && axis.kind == AxisKind::sample && micro_batch.parts > 1)
    whole = part_of(axis.extent, micro_batch.part, micro_batch.parts);
  auto degree = split.degrees.find(axis.name);
  auto weights = split.weights.find(axis.name);
  return cut(whole, degree == split.degrees.end() ? 1 : degree->second,
             weights == split.weights.end() ? std::vector<double>{} : weights->second);
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
  double total = std::accumulate(weights.begin(), weights.end(), 0.0), passed = 0;
  std::vector<Range> ranges;
  std::int64_t begin = whole.begin;
  for (std::int64_t at = 0; at < parts; ++at) {
    std::int64_t end = whole.begin + part_of(whole.extent(), at, parts).end;
    if (!weights.empty()) {
      passed += weights[static_cast<std::size_t>(at)];
      end = whole.begin + std::llround(static_cast<double>(whole.extent()) * passed / total);
    }
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

std::vector<Tile> tiles_of(const Signature& signature, const Split& split, MicroBatch micro_batch) {
  std::vector<std::vector<Range>> axes;
  for (const Axis& axis : signature.axes) axes.push_back(parts_of(axis, split, micro_batch));
  std::vector<Tile> tiles;
  std::vector<std::int64_t> part(axes.size());
  do {
    Tile tile{.part = part};
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      tile.box.ranges.push_back(axes[axis][static_cast<std::size_t>(part[axis])]);
    for (std::int64_t replica = 0; replica < split.replicas; ++replica) {
      TROIKA_CHECK(tiles.size() < split.devices.size(), "a split with too few devices");
      tile.device = split.devices[tiles.size()];
      tiles.push_back(tile);
    }
  } while (advance(part, axes));
  return tiles;
}

Strategy restricted(const Strategy& strategy, const Graph& graph) {
  Strategy own = strategy;
  std::erase_if(own.splits, [&](const auto& split) {
    return std::ranges::find(graph.operators, split.first, &Operator::name) ==
           graph.operators.end();
  });
  return own;
}

const Split& split_of(const Strategy& strategy, const std::string& op) {
  static const Split kWhole{.devices = {DeviceId(std::size_t{0})}};
  auto found = strategy.splits.find(op);
  return found == strategy.splits.end() ? kWhole : found->second;
}

}  // namespace troika
