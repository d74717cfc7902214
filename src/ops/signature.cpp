#include "ops/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace troika {
namespace {

// The division of C++ rounds towards zero; padding makes negative bounds here.
std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

constexpr std::array<std::string_view, 10> kPhaseNames{
    "forward",      "backward",     "backward_data", "backward_weight",     "update",
    "statistics_1", "statistics_2", "apply",         "backward_statistics", "backward_apply"};

}  // namespace

std::string_view to_string(AxisKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"sample", "attribute", "parameter", "reduction"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

Phase parse_phase(std::string_view text) {
  auto found = std::ranges::find(kPhaseNames, text);
  if (found == kPhaseNames.end())
    throw Error(ErrorKind::file, fmt::format("'{}' is not a phase", text));
  return static_cast<Phase>(found - kPhaseNames.begin());
}

bool is_backward(Phase phase) {
  return phase == Phase::backward || phase == Phase::backward_data ||
         phase == Phase::backward_weight || phase == Phase::backward_statistics ||
         phase == Phase::backward_apply;
}

// The formulas of DimMap, for the first and the last step of the part.
Range touched_by(const DimMap& map, Range part) {
  if (map.inverse)
    return {ceil_div(part.begin + map.pad - map.reach + 1, map.stride),
            floor_div(part.end - 1 + map.pad, map.stride) + 1};
  return {part.begin * map.stride - map.pad, (part.end - 1) * map.stride - map.pad + map.reach};
}

Range project(const DimMap& map, const Region& tile, std::int64_t extent) {
  if (map.axis == DimMap::kNoAxis) return {0, extent};
  Range range = tile[static_cast<std::size_t>(map.axis)];
  // The formulas take the last step, end - 1, which an empty range does not have.
  if (range.empty()) return {0, 0};
  return intersect(touched_by(map, range), {0, extent});
}

Region region_of(const Slot& slot, const Region& tile) {
  TROIKA_CHECK_EQ(slot.dims.size(), slot.spec.shape.rank());
  Region region;
  for (std::size_t dim = 0; dim < slot.dims.size(); ++dim)
    region.ranges.push_back(project(slot.dims[dim], tile, slot.spec.shape[dim]));
  return region;
}

const PhaseSpec* Signature::find(Phase phase) const {
  for (const auto* list : {&phases, &staged}) {
    auto found = std::ranges::find(*list, phase, &PhaseSpec::phase);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

const PhaseSpec& Signature::at(Phase phase) const {
  const PhaseSpec* found = find(phase);
  TROIKA_CHECK(found != nullptr, fmt::format("no phase {}", to_string(phase)));
  return *found;
}

int Signature::axis(std::string_view name) const {
  auto found = std::ranges::find(axes, name, &Axis::name);
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

std::vector<int> Signature::slots_of(Role role) const {
  std::vector<int> found;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].role == role) found.push_back(static_cast<int>(slot));
  }
  return found;
}

Region Signature::whole_tile() const {
  Region tile;
  for (const Axis& axis : axes) tile.ranges.push_back({0, axis.extent});
  return tile;
}

bool Signature::needs_stages(const Region& tile) const {
  for (std::size_t at = 0; at < axes.size(); ++at) {
    // With whole == 1, the default, this never holds.
    if (tile[at].begin % axes[at].whole != 0 || tile[at].end % axes[at].whole != 0) return true;
  }
  return false;
}

// Gradients have the dims of their slot, so values and gradients count alike.
std::vector<bool> axes_of(const Signature& signature, const PhaseSpec& phase) {
  std::vector<bool> touched(signature.axes.size());
  for (const Use& use : phase.uses) {
    for (const DimMap& map : signature.slots[static_cast<std::size_t>(use.slot)].dims) {
      if (map.axis != DimMap::kNoAxis) touched[static_cast<std::size_t>(map.axis)] = true;
    }
  }
  return touched;
}

Bytes bytes_of(const Signature& signature, const PhaseSpec& phase) {
  Bytes total;
  for (const Use& use : phase.uses) {
    Bytes once = signature.slots[static_cast<std::size_t>(use.slot)].spec.bytes();
    // An update reads and writes the tensor.
    total += use.access == Access::update ? once * 2 : once;
  }
  return total;
}

std::vector<Axis> leading_axes(const Shape& shape, std::size_t count) {
  constexpr std::array<const char*, kMaxRank> kNames{"n", "t", "u", "v", "w", "x", "y", "z"};
  std::vector<Axis> axes;
  for (std::size_t dim = 0; dim < count; ++dim)
    axes.push_back({.name = kNames[dim], .kind = AxisKind::sample, .extent = shape[dim]});
  return axes;
}

}  // namespace troika
