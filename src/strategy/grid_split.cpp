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

/// The same split with a list of devices in place of strides.
Split listed(const Split& split, const Signature& signature) {
  Split with_list{.factors = split.factors, .devices = devices_of(signature, split)};
  for (Factor& factor : with_list.factors) factor.stride = 1;
  return with_list;
}

/// Whether neighbouring parts along the axis are equally far apart, so that one factor can have
/// them.
bool is_evenly_spaced(const Split& split, const std::string& axis) {
  const Factor* outer = nullptr;
  for (const Factor& factor : split.factors) {
    if (factor.axis != axis) continue;
    if (outer && outer->stride != factor.stride * factor.degree) return false;
    outer = &factor;
  }
  return true;
}

/// One factor in place of all of this axis, where the first one is.
Factor& merge_factors(std::vector<Factor>& factors, const std::string& axis) {
  std::vector<Factor> merged;
  std::size_t place = factors.size();
  for (Factor& factor : factors) {
    if (factor.axis != axis) {
      merged.push_back(std::move(factor));
    } else if (place == factors.size()) {
      place = merged.size();
      merged.push_back(std::move(factor));
    } else {
      merged[place].degree *= factor.degree;
      merged[place].stride = factor.stride;
    }
  }
  factors = std::move(merged);
  return factors.at(place);
}

bool keeps_shards(const std::vector<Range>& parts, std::int64_t shard) {
  return std::ranges::all_of(parts, [&](Range part) {
    bool holds_whole = part.begin % shard == 0 && part.end % shard == 0;
    return holds_whole || part.begin / shard == (part.end - 1) / shard;
  });
}

bool have_lengths(const std::vector<Range>& parts, const std::vector<std::int64_t>& lengths) {
  return std::ranges::equal(parts, lengths, {}, &Range::extent);
}

void keep_shards(Split& split, const Signature& signature, std::int64_t shard) {
  int samples = sample_axis(signature);
  if (samples < 0 || shard == 1) return;
  const Axis& axis = signature.axes[static_cast<std::size_t>(samples)];
  std::int64_t degree = degree_along(split, axis.name);
  if (degree == 1 || axis.extent % shard != 0) return;
  std::vector<Range> parts = parts_along(axis, split, {});
  std::vector<std::int64_t> lengths = shard_lengths(axis.extent, shard, degree);
  bool is_nested = std::ranges::count(split.factors, axis.name, &Factor::axis) > 1;
  if (have_lengths(parts, lengths) || (is_nested && keeps_shards(parts, shard))) return;
  set_weights(split, signature, axis.name, {lengths.begin(), lengths.end()});
}

}  // namespace

std::int64_t largest_shard(const Graph& graph) {
  std::int64_t shard = 1;
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    int axis = sample_axis(s);
    if (axis >= 0) shard = std::max(shard, s.axes[static_cast<std::size_t>(axis)].whole);
  }
  return shard;
}

DeviceGrid first_devices(const Graph& graph, std::int64_t count) {
  return {.count = count, .shard = largest_shard(graph)};
}

std::vector<Factor> spend(const Signature& signature, std::vector<Factor> taken,
                          std::int64_t degree, const std::vector<int>& axes) {
  for (int index : axes) {
    if (index < 0) continue;
    const Axis& axis = signature.axes[static_cast<std::size_t>(index)];
    std::int64_t part = largest_divisor(degree, axis.extent / degree_along(taken, axis.name));
    if (part > 1) taken.push_back({axis.name, part});
    degree /= part;
  }
  if (degree > 1) taken.push_back({.axis = "", .degree = degree});
  return taken;
}

Split split_on(const DeviceGrid& grid, const Signature& signature, std::vector<Factor> factors) {
  Split split{.factors = dense(std::move(factors))};
  keep_shards(split, signature, grid.shard);
  if (grid.order.empty()) return split;
  split = listed(split, signature);
  for (DeviceId& device : split.devices) device = grid.order.at(device.index());
  return split;
}

void set_weights(Split& split, const Signature& signature, const std::string& axis,
                 std::vector<double> weights) {
  if (is_view(split) && !is_evenly_spaced(split, axis)) split = listed(split, signature);
  Factor& factor = merge_factors(split.factors, axis);
  factor.weights = std::move(weights);
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
