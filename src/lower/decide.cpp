#include "lower/decide.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "lower/change.h"
#include "lower/choose_algorithms.h"
#include "lower/cut_request.h"
#include "lower/folding.h"

namespace troika {
namespace {

/// The same program with all tiles on one device.
struct AloneRequest {
  explicit AloneRequest(const LowerRequest& several)
      : strategy(*several.strategy), machine{{several.machine->devices.front()}}, request(several) {
    for (const Operator& op : several.graph->operators) {
      auto split = strategy.splits.find(op.name);
      if (split == strategy.splits.end()) continue;
      auto tiles = as_index(tile_count(split->second) * replicas_of(split->second));
      for (Factor& factor : split->second.factors) factor.stride = 1;
      split->second.first = 0;
      split->second.devices.assign(tiles, DeviceId(std::size_t{0}));
    }
    request.strategy = &strategy;
    request.machine = &machine;
    request.devices.clear();
    for (StateEntry& tensor : request.storage)
      tensor.places = std::make_shared<StoredPlaces>(on_one_device(*tensor.places));
  }

  /// Each region once.
  static StoredPlaces on_one_device(const StoredPlaces& several) {
    StoredPlaces alone;
    for (StoredPlace place : several) {
      place.device = DeviceId(std::size_t{0});
      if (std::ranges::count(alone, place) == 0) alone.push_back(std::move(place));
    }
    return alone;
  }

  Strategy strategy;
  Machine machine;
  LowerRequest request;
};

/// Gives the kinds of tiles of a plan what those of the same program on one device have. Devices
/// that have a tile each need not leave out any, where one device leaves out those that would
/// repeat work, so kinds are found by their tiles.
class KindsOnOneDevice {
 public:
  KindsOnOneDevice(const ProgramPlan& several, const ProgramPlan& alone)
      : several_(several), alone_(alone) {}

  /// `of_kind`: by kind on one device. The sets are those of the same job or stored value.
  template <class Each>
  std::vector<Each> give(TileSetId set, TileSetId on_one, const std::vector<Each>& of_kind) const {
    std::vector<Each> given;
    if (of_kind.empty()) return given;
    for (std::int32_t tile : several_.distribution.kinds_of(set).first)
      given.push_back(of_kind[kind_on_one(set, on_one, tile)]);
    return given;
  }

 private:
  /// In a fixed order only samples are split: what does not run along them is one tile.
  std::size_t kind_on_one(TileSetId set, TileSetId on_one, std::int32_t tile) const {
    const TileTables& tiles = alone_.tables.tiles;
    bool same_tiles = several_.tables.tiles.set(set).count() == tiles.set(on_one).count();
    KindsId kinds = alone_.distribution.joined_kinds[as_index(on_one)];
    return as_index(tiles.kind(kinds, same_tiles ? tile : 0));
  }

  const ProgramPlan &several_, &alone_;
};

KernelUnits units_from_one_device(const ProgramPlan& several, const ProgramPlan& alone,
                                  KernelUnits units) {
  KindsOnOneDevice kinds(several, alone);
  const Distribution &here = several.distribution, &there = alone.distribution;
  for (std::size_t job = 0; job < units.jobs.size(); ++job)
    units.jobs[job] = kinds.give(here.jobs[job].set, there.jobs[job].set, units.jobs[job]);
  for (std::size_t at = 0; at < units.updates.size(); ++at) {
    auto weight = as_index(several.updates[at].weight);
    units.updates[at] = kinds.give(here.values[weight].stored.set, there.values[weight].stored.set,
                                   units.updates[at]);
  }
  for (std::size_t at = 0; at < units.stored.size(); ++at)
    units.stored[at] =
        kinds.give(here.values[at].stored.set, there.values[at].stored.set, units.stored[at]);
  return units;
}

/// Kernels for the same bits on any number of devices: those that one device would run. The search
/// weighs kernels against the reorders around them, which differ with the number of devices.
std::optional<KernelUnits> units_on_one_device(const ProgramPlan& several,
                                               const KernelTable& table) {
  AloneRequest alone(several.request);
  PlanTables tables(*several.request.graph, alone.machine);
  ProgramPlan plan{alone.request, tables, distribute(alone.request, tables)};
  plan.updates = plan_updates(alone.request, plan.distribution, tables);
  std::optional<KernelUnits> units = choose_units(plan.unit_request(), tables.regions, table);
  if (!units) return std::nullopt;
  return units_from_one_device(several, plan, std::move(*units));
}

}  // namespace

std::optional<std::string> why_no_plan(const LowerRequest& request) {
  if (auto reason = why_infeasible(*request.strategy, *request.graph, *request.machine))
    return reason;
  if (auto reason = why_no_algorithms(request.strategy->sync)) return reason;
  auto other_kind = [&](const DeviceSpec& device) {
    return device.kind != request.machine->devices.front().kind;
  };
  if (request.strategy->sync.fixed_order &&
      std::ranges::any_of(request.machine->devices, other_kind))
    return "a fixed order gives the same bits only on devices of one kind; this machine has "
           "several";
  return why_out_of_ids({.micro_batches = request.strategy->micro_batches,
                         .operators = std::ssize(request.graph->operators),
                         .tensors = std::ssize(request.graph->tensors),
                         .parameters = std::ssize(request.graph->parameters),
                         .devices = std::ssize(request.machine->devices)});
}

LinkCosts links_of(const LowerRequest& request) {
  return request.links != nullptr ? *request.links : assumed_link_costs();
}

bool has_units_of_one_device(const ProgramPlan& plan) {
  return plan.request.strategy->sync.fixed_order && plan.has_peers();
}

std::optional<KernelUnits> decide_units(const ProgramPlan& plan, const KernelTable& table) {
  if (has_units_of_one_device(plan)) return units_on_one_device(plan, table);
  return choose_units(plan.unit_request(), plan.tables.regions, table);
}

std::vector<KernelRequest> rows_needed(const LowerRequest& model) {
  CutRequest cut(model);
  const LowerRequest& request = cut.request;
  PlanTables tables(*request.graph, *request.machine);
  ProgramPlan plan{request, tables, distribute(request, tables)};
  plan.updates = plan_updates(request, plan.distribution, tables);
  std::vector<KernelRequest> rows = rows_of(plan.unit_request(), tables.regions);
  if (has_units_of_one_device(plan)) {
    AloneRequest alone(request);
    std::ranges::move(rows_needed(alone.request), std::back_inserter(rows));
  }
  // Sums and copies do not depend on kernels, but for reorders, which are asked for later.
  plan.units = plain_units(plan.unit_request(), tables.regions);
  settle(plan);
  KernelTable none;
  Folding folding(plan, none);
  folding.fold();
  std::ranges::copy(folding.missing(), std::back_inserter(rows));
  std::map<std::pair<std::string, std::string>, KernelRequest> distinct;
  for (KernelRequest& row : rows)
    distinct.try_emplace({row.kind, to_text(row.key)}, std::move(row));
  rows.clear();
  for (auto& [text, row] : distinct) rows.push_back(std::move(row));
  return rows;
}

std::vector<KernelRequest> rows_lacking(const LowerRequest& request, const KernelTable& table) {
  std::vector<KernelRequest> rows = rows_needed(request);
  std::erase_if(rows,
                [&](const KernelRequest& row) { return table.find(row.kind, row.key) != nullptr; });
  return rows;
}

}  // namespace troika
