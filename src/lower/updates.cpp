#include "lower/updates.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

class UpdatePlanner {
 public:
  UpdatePlanner(const LowerRequest& request, Distribution& distribution, PlanTables& tables)
      : request_(request), distribution_(distribution), tables_(tables) {}

  /// Plans an update and fills in its norms. Returns the value of these if they have changed, or
  /// -1.
  std::int32_t change(UpdatePlan& update) {
    std::int32_t norms = distribution_.outline.norms[as_index(update.parameter)];
    update = plan(as_index(update.parameter));
    if (norms < 0) return -1;
    DistributedValue made = update.is_staged() ? norms_of(update) : DistributedValue{};
    DistributedValue& own = distribution_.values[as_index(norms)];
    if (made == own) return -1;
    own = std::move(made);
    return norms;
  }

 private:
  UpdatePlan plan(std::size_t parameter) {
    const Parameter& own = request_.graph->parameters[parameter];
    UpdatePlan made{.parameter = static_cast<std::int32_t>(parameter),
                    .weight = distribution_.outline.parameters[parameter],
                    .gradient = distribution_.outline.parameter_gradients[parameter],
                    .rule = &request_.optimizer->rules.at(own.name)};
    const DistributedValue &weight = value(made.weight), &gradient = value(made.gradient);
    made.waits = gradient.spread.moves != nullptr && !gradient.spread.moves->messages.empty();
    made.groups = weight.groups;
    made.counted = count_once(weight, *made.groups);
    // Slices of regions that overlap would not be slices of one another.
    if (request_.strategy->sync.sliced_update && made.counted.empty()) made.shared = share(made);
    Signature s = signature(*made.rule, std::vector{weight.spec});
    auto is_cut = [&](std::int32_t tile) {
      return s.needs_stages(region_of(tables_.tiles, weight.stored, tile, weight.spec.shape));
    };
    bool staged = !s.staged.empty() &&
                  (made.shared != nullptr || std::ranges::any_of(made.groups->first, is_cut));
    if (staged) made.norms = distribution_.outline.norms[parameter];
    made.phases =
        staged ? std::vector{Phase::statistics_1, Phase::apply} : std::vector{Phase::update};
    for (Phase phase : made.phases) {
      std::vector<UpdateOperand>& operands = made.operands.emplace_back();
      for (const Use& use : s.at(phase).uses) {
        const Slot& slot = s.slots[as_index(use.slot)];
        operands.push_back(
            {slot.role, use.slot, use.gradient, use.access, slot.name, slot.spec.dtype});
      }
    }
    return made;
  }

  const DistributedValue& value(std::int32_t at) const {
    return distribution_.values[as_index(at)];
  }

  /// Nothing where the regions together are as large as the parameter: none overlaps another.
  std::vector<std::vector<Region>> count_once(const DistributedValue& weight,
                                              const PlaceGroups& groups) const {
    std::vector<Region> regions;
    std::int64_t elements = 0;
    for (std::int32_t tile : groups.first) {
      regions.push_back(region_of(tables_.tiles, weight.stored, tile, weight.spec.shape));
      elements += regions.back().elements();
    }
    std::vector<std::vector<Region>> counted;
    if (elements == weight.spec.shape.elements()) return counted;
    for (std::size_t at = 0; at < regions.size(); ++at)
      counted.push_back(subtract(
          regions[at], std::vector(regions.begin(), regions.begin() + std::ssize(counted))));
    return counted;
  }

  /// Where the gradient of every place is the result of an all-reduce among the devices that store
  /// its region, each gets its part of a reduce-scatter instead. Null where that is not so, or a
  /// region has fewer elements than owners.
  const SharedUpdates* share(const UpdatePlan& made) {
    const DistributedValue &weight = value(made.weight), &gradient = value(made.gradient);
    const Moves* moves = gradient.spread.moves;
    if (moves == nullptr) return nullptr;
    auto [known, is_new] =
        tables_.shared_updates.try_emplace({moves, gradient.updates, made.groups});
    if (is_new) known->second = find_owners(*moves, gradient.updates, *made.groups);
    const std::vector<SharedUpdate>& places = known->second.places;
    if (std::ranges::any_of(places, [](const SharedUpdate& place) { return place.owners < 2; }))
      return nullptr;
    for (std::int32_t first : made.groups->first)
      if (shape_of_tile(tables_.tiles, weight.stored, first, weight.spec.shape).elements() <
          places[as_index(first)].owners)
        return nullptr;
    return &known->second;
  }

  static SharedUpdates find_owners(const Moves& moves, int reader, const PlaceGroups& groups) {
    SharedUpdates made;
    std::vector<SharedUpdate>& places = made.places;
    places.resize(groups.region.size());
    for (std::size_t place = 0; place < places.size(); ++place) {
      auto read = as_index(moves.reads[as_index(reader)][place]);
      if (moves.message[read] < 0) continue;
      const Message& message = moves.messages[as_index(moves.message[read])];
      bool all = message.members == groups.copies[as_index(groups.region[place])];
      if (message.kind == Collective::all_reduce && all)
        places[place] = {message.members, moves.member[read], moves.message[read]};
    }
    // A message of just as many devices may still be one between others.
    std::unordered_map<std::int32_t, std::pair<std::int32_t, std::int32_t>> readers;
    for (std::size_t place = 0; place < places.size(); ++place) {
      auto [known, is_new] =
          readers.try_emplace(places[place].message, groups.region[place], std::int32_t{0});
      known->second.second += known->second.first == groups.region[place] ? 1 : -1;
    }
    for (SharedUpdate& place : places)
      if (place.message >= 0 && readers.at(place.message).second != place.owners) place = {};
    made.place_of.assign(moves.messages.size(), -1);
    for (std::size_t place = 0; place < places.size(); ++place)
      if (places[place].message >= 0)
        made.place_of[as_index(places[place].message)] = static_cast<std::int32_t>(place);
    return made;
  }

  /// Terms are the regions, each known to all that store it, or the slices.
  DistributedValue norms_of(const UpdatePlan& made) {
    std::vector<std::int32_t> terms = made.groups->region;
    std::int32_t most = 1;
    if (made.shared != nullptr)
      for (const SharedUpdate& place : made.shared->places) most = std::max(most, place.owners);
    for (std::size_t place = 0; made.shared != nullptr && place < terms.size(); ++place)
      terms[place] = terms[place] * most + made.shared->places[place].owner;
    TileSetId set = value(made.weight).stored.set;
    return {.spec = {{2}, DType::f64},
            .spread = tables_.spreads.numbers(set, terms),
            .stored = {.set = set}};
  }

  const LowerRequest& request_;
  Distribution& distribution_;
  PlanTables& tables_;
};

}  // namespace

std::vector<UpdatePlan> plan_updates(const LowerRequest& request, Distribution& distribution,
                                     PlanTables& tables) {
  std::vector<UpdatePlan> plans;
  if (request.optimizer == nullptr) return plans;
  UpdatePlanner planner(request, distribution, tables);
  for (std::size_t at = 0; at < request.graph->parameters.size(); ++at) {
    if (!distribution.outline.updated[at]) continue;
    UpdatePlan& made = plans.emplace_back();
    made.parameter = static_cast<std::int32_t>(at);
    planner.change(made);
  }
  TROIKA_CHECK(!plans.empty(), "a training program without trained parameters");
  return plans;
}

void change_updates(const UpdatedProgram& program, PlanTables& tables, Touched& touched) {
  UpdatePlanner planner(program.request, program.distribution, tables);
  auto is_touched = [&](std::int32_t value) {
    return std::ranges::binary_search(touched.values, value);
  };
  std::vector<std::int32_t> norms;
  for (std::size_t at = 0; at < program.updates.size(); ++at) {
    UpdatePlan& update = program.updates[at];
    if (!is_touched(update.weight) && !is_touched(update.gradient)) continue;
    touched.updates.push_back(static_cast<std::int32_t>(at));
    if (std::int32_t changed = planner.change(update); changed >= 0) norms.push_back(changed);
  }
  // They stand behind all other values, in the order of the parameters.
  touched.values.insert(touched.values.end(), norms.begin(), norms.end());
}

}  // namespace troika
