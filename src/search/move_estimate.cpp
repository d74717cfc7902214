#include "search/move_estimate.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

double volume(const Region& box) {
  double product = 1;
  for (const Range& range : box.ranges)
    product *= static_cast<double>(std::max<std::int64_t>(0, range.extent()));
  return product;
}

double volume(const std::vector<Region>& boxes) {
  double sum = 0;
  for (const Region& box : boxes) sum += volume(box);
  return sum;
}

double common_volume(const std::vector<Region>& needed, const std::vector<Region>& there) {
  double sum = 0;
  for (const Region& one : needed)
    for (const Region& other : there) sum += volume(intersect(one, other));
  return sum;
}

void add_new(std::vector<Region>& boxes, const std::vector<Region>& more) {
  for (const Region& box : more)
    if (std::ranges::count(boxes, box) == 0) boxes.push_back(box);
}

std::uint64_t hash_of(const Holding& holding) {
  std::uint64_t hash = static_cast<std::uint64_t>(holding.terms);
  for (const std::vector<Region>& boxes : holding.of_device) {
    hash = mix(hash, boxes.size());
    for (const Region& box : boxes)
      for (const Range& range : box.ranges)
        hash = mix(mix(hash, static_cast<std::uint64_t>(range.begin)),
                   static_cast<std::uint64_t>(range.end));
  }
  return hash;
}

/// How many tiles write terms of one element: those that differ along axes that the slot lacks.
std::int64_t terms_of(const TileMap& tiles, const Slot& slot) {
  std::int64_t terms = 1;
  for (std::size_t axis = 0; axis < tiles.parts.size(); ++axis) {
    bool has_axis = std::ranges::any_of(
        slot.dims, [&](const DimMap& map) { return map.axis == static_cast<int>(axis); });
    if (!has_axis) terms *= std::ssize(tiles.parts[axis]);
  }
  return terms;
}

}  // namespace

MoveEstimates::MoveEstimates(const IndexedGraph& index, const Machine& machine,
                             const LinkCosts& costs)
    : index_(index), machine_(machine), costs_(costs), nodes_(as_index(node_count(machine))) {
  for (std::size_t at = 0; at < machine.devices.size(); ++at)
    nodes_[as_index(machine.devices[at].node)].push_back(at);
}

MoveEstimates::HoldingId MoveEstimates::holding_of(std::size_t op, int slot, const Split& split,
                                                   bool is_partial) {
  const Signature& s = index_.signatures[op];
  const Slot& own = s.slots[as_index(slot)];
  TileMap tiles = map_tiles(s, split, {});
  Holding made;
  made.of_device.resize(machine_.devices.size());
  if (is_partial) made.terms = terms_of(tiles, own);
  std::size_t count = tiles.device.size() / as_index(tiles.replicas);
  Region box;
  box.ranges.resize(tiles.parts.size());
  for (std::size_t tile = 0; tile < count; ++tile) {
    std::size_t rest = tile;
    for (std::size_t axis = tiles.parts.size(); axis-- > 0;) {
      box.ranges[axis] = tiles.parts[axis][rest % tiles.parts[axis].size()];
      rest /= tiles.parts[axis].size();
    }
    Region touched = region_of(own, box);
    for (std::size_t replica = 0; replica < as_index(tiles.replicas); ++replica)
      add_new(made.of_device[as_index(tiles.device[tile * as_index(tiles.replicas) + replica])],
              {touched});
  }
  made.hash = hash_of(made);
  auto [begin, end] = by_hash_.equal_range(made.hash);
  for (auto known = begin; known != end; ++known)
    if (holdings_[as_index(known->second)] == made) return known->second;
  auto id = static_cast<HoldingId>(holdings_.size());
  by_hash_.emplace(made.hash, id);
  holdings_.push_back(std::move(made));
  return id;
}

/// Elements that a device must get, by where the nearest holder is.
MoveEstimates::Need MoveEstimates::needed_by(std::size_t device, const Holding& from,
                                             const Holding& to) const {
  const std::vector<Region>& wanted = to.of_device[device];
  double all = volume(wanted);
  if (all == 0) return {};
  double own = std::min(all, common_volume(wanted, from.of_device[device]));
  std::vector<Region> in_node, in_process;
  std::int64_t holders = 0;
  for (std::size_t other : nodes_[as_index(machine_.devices[device].node)]) {
    if (common_volume(wanted, from.of_device[other]) > 0) ++holders;
    add_new(in_node, from.of_device[other]);
    if (machine_.devices[other].rank == machine_.devices[device].rank)
      add_new(in_process, from.of_device[other]);
  }
  if (from.terms > 1) {
    // Each element arrives once from each term, or twice in a ring.
    double bytes = std::min(all * static_cast<double>(from.terms) - own, 2 * all);
    bool is_inside = holders >= from.terms;
    bool is_one_process =
        is_inside && machine_.devices.front().rank == machine_.devices.back().rank;
    return {is_one_process ? bytes : 0, is_inside && !is_one_process ? bytes : 0,
            is_inside ? 0 : bytes};
  }
  double near = std::clamp(common_volume(wanted, in_process), own, all);
  double inside = std::clamp(common_volume(wanted, in_node), near, all);
  return {near - own, inside - near, all - inside};
}

double MoveEstimates::time_of(LinkKind kind, double bytes) const {
  return bytes > 0 ? costs_[kind].alpha + bytes * costs_[kind].beta : 0;
}

double MoveEstimates::move_time(HoldingId from, HoldingId to, Bytes element) {
  std::uint64_t name = mix(mix(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)),
                           static_cast<std::uint64_t>(element.count));
  auto [known, is_new] = moves_.try_emplace(name);
  if (!is_new) return known->second;
  const Holding& have = holdings_[as_index(from)];
  const Holding& want = holdings_[as_index(to)];
  auto bytes = static_cast<double>(element.count);
  double longest = 0;
  for (const std::vector<std::size_t>& node : nodes_) {
    double over_card = 0, inside = 0;
    for (std::size_t device : node) {
      Need need = needed_by(device, have, want);
      over_card += need.network * bytes;  // its devices share the card of a node
      inside = std::max(inside, time_of(LinkKind::process, need.process * bytes) +
                                    time_of(LinkKind::node, need.node * bytes));
    }
    longest = std::max(longest, inside + time_of(LinkKind::network, over_card));
  }
  return known->second = longest;
}

double MoveEstimates::sum_time(HoldingId held, Bytes element) {
  std::uint64_t name =
      mix(static_cast<std::uint64_t>(held), static_cast<std::uint64_t>(element.count));
  auto [known, is_new] = sums_.try_emplace(name);
  if (!is_new) return known->second;
  const Holding& have = holdings_[as_index(held)];
  auto bytes = static_cast<double>(element.count);
  double inside = 0, between = 0;
  for (const std::vector<std::size_t>& node : nodes_) {
    std::vector<Region> distinct;
    double devices = 0;
    for (std::size_t device : node) {
      add_new(distinct, have.of_device[device]);
      if (!have.of_device[device].empty()) ++devices;
    }
    if (distinct.empty()) continue;
    double each = volume(distinct) * bytes;
    double copies = devices / static_cast<double>(distinct.size());
    LinkKind near = machine_.devices[node.front()].rank == machine_.devices[node.back()].rank
                        ? LinkKind::process
                        : LinkKind::node;
    if (copies > 1) inside = std::max(inside, time_of(near, 2 * each * (copies - 1) / copies));
    double nodes = 0;
    for (const std::vector<std::size_t>& other : nodes_)
      nodes += std::ranges::any_of(other, [&](std::size_t device) {
        return common_volume(distinct, have.of_device[device]) > 0;
      });
    if (nodes > 1)
      between = std::max(between, time_of(LinkKind::network, 2 * each * (nodes - 1) / nodes));
  }
  return known->second = inside + between;
}

}  // namespace troika
