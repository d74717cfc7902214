#include "lower/place_parameters.h"

#include <algorithm>

namespace troika {
namespace {

using Needs = std::vector<std::vector<Placed>>;  // by ParameterId

void note_need(std::vector<Placed>& needs, const Placed& need) {
  auto holds = [&](const Placed& other) {
    return other.device == need.device && contains(other.region, need.region);
  };
  if (std::ranges::any_of(needs, holds)) return;
  std::erase_if(needs, [&](const Placed& other) {
    return other.device == need.device && contains(need.region, other.region);
  });
  needs.push_back(need);
}

void note_operator(const Draft& draft, std::size_t at, Needs& needs) {
  const Operator& op = draft.graph.operators[at];
  const Signature& s = draft.signatures[at];
  for (const Tile& tile : tiles_of(draft, op, s, 0)) {
    for (Role role : {Role::weight, Role::state}) {
      for (int slot : s.slots_of(role)) {
        Region region = region_of(s.slots[static_cast<std::size_t>(slot)], tile.box);
        note_need(needs[parameter_at(op, s, slot).index()], {region, tile.device});
      }
    }
  }
}

std::vector<Placed> stored_places(const LowerRequest& request, const std::string& name) {
  std::vector<Placed> places;
  for (const StoredSlice& slice : request.storage)
    if (slice.of == name) places.push_back({slice.region, slice.device});
  return places;
}

void add_slices(Draft& draft, std::size_t at, const std::vector<Placed>& places) {
  const Parameter& parameter = draft.graph.parameters[at];
  Value& value =
      draft.parameters.emplace_back(Value{parameter.name, parameter.spec, Category::parameter});
  for (const Placed& place : places) {
    BufferId buffer =
        add_buffer(draft, {.name = slice_name(draft, parameter.name, parameter.spec.shape, place),
                           .spec = {place.region.shape(), parameter.spec.dtype},
                           .device = place.device,
                           .category = Category::parameter,
                           .persistent = true});
    draft.tasks[buffer].part_of = parameter.name;
    draft.tasks[buffer].region = place.region;
    draft.tasks[buffer].whole = parameter.spec.shape;
    value.finished.push_back({place, buffer});
  }
  draft.slices.push_back(value.finished);
}

}  // namespace

void place_parameters(Draft& draft) {
  const Graph& graph = draft.graph;
  Needs needs(graph.parameters.size());
  for (std::size_t at = 0; at < graph.operators.size(); ++at)
    if (draft.wanted[at]) note_operator(draft, at, needs);
  for (std::size_t at = 0; at < graph.parameters.size(); ++at) {
    const Parameter& parameter = graph.parameters[at];
    std::vector<Placed> stored = stored_places(draft.request, parameter.name);
    if (!stored.empty()) needs[at] = stored;
    if (needs[at].empty())
      needs[at] = {{Region::whole(parameter.spec.shape), DeviceId(std::size_t{0})}};
    std::ranges::stable_sort(needs[at], {}, &Placed::device);
    add_slices(draft, at, needs[at]);
    draft.parameter_gradients.push_back(
        {"d " + parameter.name, parameter.spec, Category::gradient});
  }
}

}  // namespace troika
