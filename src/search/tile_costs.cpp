#include "search/tile_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lower/fuse.h"
#include "search/split_menus.h"

namespace troika {
namespace {

/// Along each axis the longest part, or the shortest.
Region tile_of(const TileMap& tiles, bool is_largest) {
  Region box;
  for (const std::vector<Range>& parts : tiles.parts) {
    auto [least, most] = std::ranges::minmax_element(parts, {}, &Range::extent);
    box.ranges.push_back(is_largest ? *most : *least);
  }
  return box;
}

/// As in lowering: one tile that cuts what a plain phase needs whole makes all of them staged.
bool has_partial_tiles(const Signature& s, const TileMap& tiles) {
  for (std::size_t axis = 0; axis < tiles.parts.size(); ++axis)
    for (const Range& part : tiles.parts[axis])
      if (part.begin % s.axes[axis].whole != 0 || part.end % s.axes[axis].whole != 0) return true;
  return false;
}

/// Of all tiles, or of those of each device: how many differ in axes that a phase runs along.
struct DistinctTiles {
  std::int64_t all = 1;
  std::map<std::int32_t, std::int64_t> of_device;
};

DistinctTiles distinct_tiles(const TileMap& tiles, const std::vector<bool>& runs_along) {
  DistinctTiles made;
  for (std::size_t axis = 0; axis < tiles.parts.size(); ++axis)
    if (runs_along[axis]) made.all *= std::ssize(tiles.parts[axis]);
  std::set<std::pair<std::int32_t, std::size_t>> seen;  // device and tile along these axes
  for (std::size_t at = 0; at < tiles.device.size(); ++at) {
    std::size_t rest = at / as_index(tiles.replicas), number = 0, scale = 1;
    for (std::size_t axis = tiles.parts.size(); axis-- > 0;) {
      std::size_t parts = tiles.parts[axis].size();
      if (runs_along[axis]) number += rest % parts * scale, scale *= parts;
      rest /= parts;
    }
    if (seen.emplace(tiles.device[at], number).second) ++made.of_device[tiles.device[at]];
  }
  return made;
}

}  // namespace

TileCosts::TileCosts(const IndexedGraph& index, const LowerRequest& request,
                     const ScoringKernels& kernels)
    : index_(index),
      request_(request),
      kernels_(kernels),
      outline_(make_outline({index, request.optimizer, request.outputs})) {
  none_.of_device.resize(request.machine->devices.size());
  std::map<std::string, std::int32_t> known;
  for (std::size_t op = 0; op < index.graph.operators.size(); ++op) {
    std::string text = subject_text(index, op);
    for (std::int32_t job : outline_.jobs_of[op])
      text += fmt::format(" {}", to_string(outline_.jobs[as_index(job)].phase->phase));
    kind_of_.push_back(
        known.try_emplace(text, static_cast<std::int32_t>(known.size())).first->second);
  }
}

SimTime TileCosts::time_of(const KernelKey& key) {
  auto [known, is_new] = times_.try_emplace(to_text(key));
  if (!is_new) return known->second;
  const DeviceSpec& device = request_.machine->devices.front();
  std::vector<Candidate> candidates = kernels_.answer({device.kind, key});
  bool is_timed = !candidates.empty() && candidates.front().time;
  known->second = is_timed ? time_on(device, *candidates.front().time)
                           : roofline_time(device, flops_of(key), bytes_of(key));
  return known->second;
}

const TileCost& TileCosts::of(std::size_t op, const Split& split) {
  std::string name = fmt::format("{} {}", kind_of_[op], to_text(split));
  auto found = known_.find(name);
  if (found == known_.end()) found = known_.emplace(std::move(name), find(op, split)).first;
  return found->second;
}

const TileCost& TileCosts::bound_of(std::size_t op, const Split& split) {
  bool may_follow = kernels_.may_fuse() && can_follow(index_.graph.operators[op].op);
  return may_follow || split.chunks > 1 ? none_ : of(op, split);
}

KernelKey TileCosts::key_of(std::size_t op, const Region& box, Phase phase) const {
  const Signature& s = index_.signatures[op];
  KernelKey key{localize(index_.graph.operators[op].op, s, box), {}, phase, {}};
  for (int slot : s.slots_of(Role::input)) {
    const Slot& input = s.slots[as_index(slot)];
    key.inputs.push_back({region_of(input, box).shape(), input.spec.dtype});
  }
  return key;
}

void TileCosts::add_phase(const TileMap& tiles, const PhaseSpec& phase, std::size_t op,
                          TileCost& cost) {
  const Signature& s = index_.signatures[op];
  std::int64_t micro_batches = request_.strategy->micro_batches;
  Region largest = tile_of(tiles, true), smallest = tile_of(tiles, false);
  SimTime least = time_of(key_of(op, smallest, phase.phase));
  SimTime longest = smallest == largest ? least : time_of(key_of(op, largest, phase.phase));
  least = std::min(least, longest);  // measured times need not grow with the tile
  DistinctTiles distinct = distinct_tiles(tiles, axes_of(s, phase));
  std::int64_t most = 0;
  for (const auto& [device, count] : distinct.of_device) {
    most = std::max(most, count);
    cost.of_device[as_index(device)] += least * (count * micro_batches);
  }
  cost.busiest += longest * (most * micro_batches);
  cost.work += least * (distinct.all * micro_batches);
  if (!is_backward(phase.phase))
    cost.forward += least;
  else
    (phase.phase == Phase::backward_weight ? cost.weight : cost.backward) += least;
}

TileCost TileCosts::find(std::size_t op, const Split& split) {
  TileMap tiles = map_tiles(index_.signatures[op], split, {0, request_.strategy->micro_batches});
  bool is_staged = has_partial_tiles(index_.signatures[op], tiles);
  TileCost cost;
  cost.of_device.resize(request_.machine->devices.size());
  for (std::int32_t number : outline_.jobs_of[op]) {
    const Job& job = outline_.jobs[as_index(number)];
    if (job.staged == is_staged && !job.phase->view) add_phase(tiles, *job.phase, op, cost);
  }
  return cost;
}

}  // namespace troika
