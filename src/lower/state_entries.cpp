#include "lower/state_entries.h"

#include <algorithm>
#include <map>

namespace troika {
namespace {

class StorageList {
 public:
  explicit StorageList(const ProgramPlan& plan) : plan_(plan) {
    for (std::size_t at = 0; at < plan.updates.size(); ++at)
      update_of_[plan.updates[at].parameter] = at;
  }

  std::vector<StateEntry> list() {
    const std::vector<Parameter>& parameters = plan_.request.graph->parameters;
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      const Parameter& parameter = parameters[at];
      std::int32_t value = plan_.distribution.outline.parameters[at];
      if (value < 0) {
        made_.push_back({parameter.name, parameter.spec, Category::parameter,
                         std::make_shared<StoredPlaces>(places_of_unused(plan_.request, parameter)),
                         parameter.merged});
        continue;
      }
      made_.push_back({parameter.name, parameter.spec, Category::parameter,
                       places({as_index(value), plan_.units.stored[as_index(value)], nullptr}),
                       parameter.merged});
      auto update = update_of_.find(static_cast<std::int32_t>(at));
      if (update != update_of_.end()) add_states(parameter, update->second);
    }
    return std::move(made_);
  }

 private:
  /// How a tensor is stored.
  struct Manner {
    std::size_t weight;           ///< Value whose places it takes.
    std::vector<Layout> layouts;  ///< By kind of place.
    const SharedUpdates* shared;  ///< Not null: each place has a slice.
  };

  void add_states(const Parameter& parameter, std::size_t at) {
    const UpdatePlan& update = plan_.updates[at];
    auto weight = as_index(update.weight);
    std::size_t kinds = plan_.units.stored[weight].size();
    std::vector<int> known;
    for (const std::vector<UpdateOperand>& operands : update.operands)
      for (const UpdateOperand& operand : operands) {
        if (operand.role != Role::state || std::ranges::count(known, operand.slot) > 0) continue;
        known.push_back(operand.slot);
        std::vector<Layout> layouts;
        for (std::size_t kind = 0; kind < kinds; ++kind)
          layouts.push_back(
              layout_of_state(plan_, at, operand.slot, static_cast<std::int32_t>(kind)));
        made_.push_back({parameter.name + "." + operand.name,
                         {parameter.spec.shape, operand.dtype},
                         Category::optimizer,
                         places({weight, std::move(layouts), update.shared}),
                         parameter.merged});
      }
  }

  std::shared_ptr<const StoredPlaces> places(const Manner& manner) {
    std::shared_ptr<const StoredPlaces>& known = places_[key_of(manner)];
    if (known == nullptr) known = std::make_shared<StoredPlaces>(make_places(manner));
    return known;
  }

  std::pair<TableKey, const SharedUpdates*> key_of(const Manner& manner) const {
    const DistributedValue& weight = plan_.distribution.values[manner.weight];
    TableKey key{weight.stored.set};
    for (const DimCut& cut : weight.stored.cuts)
      key.insert(key.end(), {cut.digit.stride, cut.digit.count, cut.ranges});
    for (std::int64_t extent : weight.spec.shape) key.push_back(extent);
    for (Layout layout : manner.layouts) key.push_back(static_cast<std::int64_t>(layout));
    return {std::move(key), manner.shared};
  }

  StoredPlaces make_places(const Manner& manner) const {
    const DistributedValue& weight = plan_.distribution.values[manner.weight];
    const TileTables& tiles = plan_.tables.tiles;
    const TileSet& set = tiles.set(weight.stored.set);
    KindsId kinds = plan_.distribution.joined_kinds[as_index(weight.stored.set)];
    StoredPlaces made;
    for (std::int32_t place : set.tiles) {  // device by device
      StoredPlace& own = made.emplace_back();
      own.device = DeviceId(as_index(set.device[as_index(place)]));
      own.region = region_of(tiles, weight.stored, place, weight.spec.shape);
      own.layout = manner.layouts[as_index(tiles.kind(kinds, place))];
      if (manner.shared == nullptr) continue;
      const SharedUpdate& share = manner.shared->places[as_index(place)];
      std::int64_t elements = own.region.elements();
      std::int64_t length = slice_length(elements, share.owners);
      own.run = Range{std::min(length * share.owner, elements),
                      std::min(length * (share.owner + 1), elements)};
    }
    return made;
  }

  const ProgramPlan& plan_;
  std::map<std::int32_t, std::size_t> update_of_;  // by parameter
  std::map<std::pair<TableKey, const SharedUpdates*>, std::shared_ptr<const StoredPlaces>> places_;
  std::vector<StateEntry> made_;
};

}  // namespace

std::vector<StateEntry> state_entries(const ProgramPlan& plan) { return StorageList(plan).list(); }

StoredPlaces places_of_unused(const LowerRequest& request, const Parameter& parameter) {
  if (const StateEntry* tensor = find_entry(request.storage, parameter.name))
    return *tensor->places;
  return {{DeviceId(std::size_t{0}), Region::whole(parameter.spec.shape)}};
}

Layout layout_of_state(const ProgramPlan& plan, std::size_t update, std::int32_t slot,
                       std::int32_t kind) {
  const UpdatePlan& own = plan.updates[update];
  Layout layout = Layout::plain;
  for (std::size_t phase = 0; phase < own.phases.size(); ++phase)
    for (std::size_t use = 0; use < own.operands[phase].size(); ++use)
      if (own.operands[phase][use].slot == slot)
        layout = plan.units.updates[update][as_index(kind)][phase].choice.layouts[use];
  return layout;
}

}  // namespace troika
