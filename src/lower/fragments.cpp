#include "lower/fragments.h"

#include <fmt/format.h>

#include <algorithm>

namespace troika {
namespace {

class PhaseSplitter {
 public:
  explicit PhaseSplitter(const PhaseRequest& request)
      : request_(request), runs_along_(axes_of(request.signature, request.phase)) {}

  PhaseFragment split() {
    find_tiles();
    for (const Use& use : request_.phase.uses) {
      const Slot& slot = request_.signature.slots[static_cast<std::size_t>(use.slot)];
      PhaseFragment::UsePlaces& places = made_.uses.emplace_back();
      for (const Tile& tile : made_.tiles)
        places.places.push_back({region_of(slot, tile.box), tile.device});
      if (use.access == Access::write) places.terms = terms_of(slot);
    }
    for (const Tile& tile : made_.tiles) {
      made_.keys.push_back(key_of(tile.box));
      made_.positions.push_back(position_of(request_.op, request_.signature, tile.box));
    }
    return std::move(made_);
  }

 private:
  void find_tiles() {
    auto same_work = [&](const Tile& a, const Tile& b) {
      if (a.device != b.device) return false;
      for (std::size_t axis = 0; axis < runs_along_.size(); ++axis)
        if (runs_along_[axis] && a.part[axis] != b.part[axis]) return false;
      return true;
    };
    for (Tile& tile : tiles_of(request_.signature, request_.split, request_.micro_batch)) {
      bool is_done = std::ranges::any_of(made_.tiles,
                                         [&](const Tile& other) { return same_work(tile, other); });
      if (!is_done) made_.tiles.push_back(std::move(tile));
    }
  }

  std::vector<std::vector<std::int64_t>> terms_of(const Slot& slot) const {
    std::vector<std::size_t> partial_axes;
    for (std::size_t axis = 0; axis < runs_along_.size(); ++axis)
      if (is_partial_along(slot, axis)) partial_axes.push_back(axis);
    std::vector<std::vector<std::int64_t>> terms;
    for (const Tile& tile : made_.tiles) {
      std::vector<std::int64_t>& term = terms.emplace_back();
      for (std::size_t axis : partial_axes) term.push_back(tile.part[axis]);
    }
    return terms;
  }

  /// Whether tiles that differ along this axis alone write sums of the same elements: the tensor
  /// lacks the axis, or what neighbours write overlaps.
  bool is_partial_along(const Slot& slot, std::size_t axis) const {
    if (!runs_along_[axis]) return false;
    bool is_there = false;
    for (std::size_t dim = 0; dim < slot.dims.size(); ++dim) {
      const DimMap& map = slot.dims[dim];
      if (map.axis != static_cast<int>(axis)) continue;
      is_there = true;
      if (neighbours_overlap(map, axis, slot.spec.shape[dim])) return true;
    }
    return !is_there;
  }

  bool neighbours_overlap(const DimMap& map, std::size_t axis, std::int64_t extent) const {
    std::map<std::int64_t, Range> parts;
    for (const Tile& tile : made_.tiles)
      parts.try_emplace(tile.part[axis], project(map, tile.box, extent));
    for (auto part = parts.begin(), next = part; part != parts.end(); part = next)
      if (++next != parts.end() && !intersect(part->second, next->second).empty()) return true;
    return false;
  }

  KernelKey key_of(const Region& box) const {
    const Signature& s = request_.signature;
    KernelKey key{localize(request_.op, s, box), {}, request_.phase.phase, {}};
    for (int slot : s.slots_of(Role::input)) {
      const Slot& input = s.slots[static_cast<std::size_t>(slot)];
      key.inputs.push_back({region_of(input, box).shape(), input.spec.dtype});
    }
    return key;
  }

  const PhaseRequest& request_;
  const std::vector<bool> runs_along_;
  PhaseFragment made_;
};

std::string text_of(const PhaseRequest& request) {
  std::string text =
      fmt::format("{} {} {}/{} from {}", to_text(request.op), to_string(request.phase.phase),
                  request.micro_batch.part, request.micro_batch.parts, request.split.first);
  for (int slot : request.signature.slots_of(Role::input))
    text += " " + to_string(request.signature.slots[static_cast<std::size_t>(slot)].spec);
  for (const Factor& factor : request.split.factors) {
    text += fmt::format(" {}:{}*{}", factor.axis, factor.degree, factor.stride);
    for (double weight : factor.weights) text += fmt::format(",{}", weight);
  }
  for (DeviceId device : request.split.devices) text += fmt::format(" {}", device.value);
  return text;
}

void append(std::string& text, const std::vector<Placed>& places) {
  for (const Placed& place : places)
    text += fmt::format("{}@{}", to_string(place.region), place.device.value);
}

std::string text_of(const Spread& have, const std::vector<Placed>& needs) {
  std::string text;
  for (const std::vector<Placed>& term : have.terms) {
    append(text, term);
    text += "+";
  }
  text += ">";
  append(text, needs);
  return text;
}

}  // namespace

PhaseFragment split_phase(const PhaseRequest& request) { return PhaseSplitter(request).split(); }

const PhaseFragment& FragmentCache::phase(const PhaseRequest& request) {
  auto [found, is_new] = phases_.try_emplace(text_of(request));
  if (is_new) found->second = split_phase(request);
  return found->second;
}

const std::vector<Exchange>& FragmentCache::exchanges(const Spread& have,
                                                      const std::vector<Placed>& needs) {
  auto [found, is_new] = exchanges_.try_emplace(text_of(have, needs));
  if (is_new) found->second = find_exchanges(have, needs);
  return found->second;
}

const std::vector<Assembly>& FragmentCache::assemblies(const Spread& have,
                                                       const std::vector<Placed>& needs) {
  auto [found, is_new] = assemblies_.try_emplace(text_of(have, needs));
  if (is_new) found->second = assemble(have, needs);
  return found->second;
}

}  // namespace troika
