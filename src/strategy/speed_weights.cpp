// Tiles of different sizes for devices of different speeds.
#include <algorithm>
#include <limits>
#include <numeric>

#include "strategy/ready.h"
#include "strategy/ready_split.h"

namespace troika {
namespace {

/// `units` shared out in proportion to the speeds, at least one each, by largest remainders.
std::vector<std::int64_t> share_out(std::int64_t units, const std::vector<double>& speeds) {
  double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  auto spare = static_cast<double>(units - static_cast<std::int64_t>(speeds.size()));
  std::vector<std::int64_t> shares;
  std::vector<double> remainders;
  for (double speed : speeds) {
    double wanted = std::max(0.0, speed / total * static_cast<double>(units) - 1);
    wanted = std::min(wanted, spare);
    shares.push_back(1 + static_cast<std::int64_t>(wanted));
    remainders.push_back(wanted - static_cast<double>(static_cast<std::int64_t>(wanted)));
  }
  std::vector<std::size_t> order(speeds.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t at) { return remainders[at]; });
  std::int64_t left = units - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  for (std::size_t at = 0; left > 0; at = (at + 1) % order.size(), --left) ++shares[order[at]];
  while (left < 0) {  // Slow devices were rounded up to one unit.
    auto largest = std::ranges::max_element(shares);
    --*largest, ++left;
  }
  return shares;
}

/// The slowest device of each part along the samples sets its pace.
std::vector<double> part_speeds(const Signature& s, const Split& split, const Machine& machine) {
  TileMap map = map_tiles(s, split, {});
  auto samples = static_cast<std::size_t>(sample_axis(s));
  std::size_t parts = map.parts[samples].size();
  // Tiles and replicas of one part that lie next to each other.
  auto inside = static_cast<std::size_t>(map.replicas);
  for (std::size_t axis = samples + 1; axis < map.parts.size(); ++axis)
    inside *= map.parts[axis].size();
  std::vector<double> speeds(parts, std::numeric_limits<double>::infinity());
  for (std::size_t at = 0; at < map.device.size(); ++at) {
    double& speed = speeds[at / inside % parts];
    const DeviceSpec& device = machine.devices[static_cast<std::size_t>(map.device[at])];
    speed = std::min(speed, device.flops_per_second / device.slowdown);
  }
  return speeds;
}

}  // namespace

Strategy weighted_by_speed(const Strategy& strategy, const Graph& graph, const Machine& machine) {
  Strategy weighted = strategy;
  std::int64_t shard = largest_shard(graph);
  for (const Operator& op : graph.operators) {
    auto found = weighted.splits.find(op.name);
    Signature s = signature(graph, op);
    int samples = sample_axis(s);
    if (found == weighted.splits.end() || samples < 0) continue;
    Split split = found->second;
    std::int64_t extent = s.axes[static_cast<std::size_t>(samples)].extent;
    std::int64_t unit = extent % shard == 0 ? shard : 1;
    std::int64_t degree = degree_along(split, "n");
    if (degree == 1 || degree > extent / unit) continue;
    std::vector<std::int64_t> shares = share_out(extent / unit, part_speeds(s, split, machine));
    set_weights(split, s, "n", {shares.begin(), shares.end()});
    SplitTerms terms{static_cast<std::int64_t>(machine.devices.size()), strategy.micro_batches};
    if (!why_split_infeasible({&op, &s}, split, terms)) found->second = split;
  }
  return weighted;
}

}  // namespace troika
