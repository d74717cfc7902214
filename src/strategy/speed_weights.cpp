// Tiles of different sizes for devices of different speeds.
#include <algorithm>
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
  auto samples = static_cast<std::size_t>(sample_axis(s));
  std::vector<double> speeds(static_cast<std::size_t>(split.degrees.at("n")), 0);
  for (const Tile& tile : tiles_of(s, split, {})) {
    double& speed = speeds[static_cast<std::size_t>(tile.part[samples])];
    double own = machine[tile.device].flops_per_second;
    speed = speed == 0 ? own : std::min(speed, own);
  }
  return speeds;
}

}  // namespace

Strategy weighted_by_speed(const Strategy& strategy, const Graph& graph, const Machine& machine) {
  Strategy weighted = strategy;
  DeviceGrid grid = first_devices(graph, 0);
  for (const Operator& op : graph.operators) {
    auto found = weighted.splits.find(op.name);
    Signature s = signature(graph, op);
    int samples = sample_axis(s);
    if (found == weighted.splits.end() || samples < 0) continue;
    Split split = found->second;
    std::int64_t extent = s.axes[static_cast<std::size_t>(samples)].extent;
    std::int64_t unit = extent % grid.shard == 0 ? grid.shard : 1;
    auto degree = split.degrees.find("n");
    if (degree == split.degrees.end() || degree->second > extent / unit) continue;
    std::vector<std::int64_t> shares = share_out(extent / unit, part_speeds(s, split, machine));
    split.weights["n"] = {shares.begin(), shares.end()};
    SplitTerms terms{static_cast<std::int64_t>(machine.devices.size()), strategy.micro_batches};
    if (!why_split_infeasible({&op, &s}, split, terms)) found->second = split;
  }
  return weighted;
}

}  // namespace troika
