#include "lower/lower.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "lower/bind.h"
#include "lower/choose_algorithms.h"
#include "lower/decide.h"
#include "lower/gradient_buckets.h"
#include "lower/place_buffers.h"
#include "lower/update_moments.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

/// What follows from the units.
void settle(ProgramPlan& plan) {
  note_layouts(plan);
  plan_moments(plan);
  plan_buckets(plan);
}

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
    request.storage.clear();
    for (StoredSlice slice : several.storage) {
      if (std::ranges::count(request.storage, slice.of, &StoredSlice::of) > 0) continue;
      slice.name = slice.of;
      slice.device = DeviceId(std::size_t{0});
      request.storage.push_back(slice);
    }
  }

  Strategy strategy;
  Machine machine;
  LowerRequest request;
};

/// Kernels for the same bits on any number of devices: those that one device would run. The search
/// weighs kernels against the reorders around them, which differ with the number of devices.
KernelUnits units_on_one_device(const LowerRequest& several, const KernelTable& table) {
  AloneRequest alone(several);
  PlanTables tables(*several.graph, alone.machine);
  ProgramPlan plan{alone.request, tables, distribute(alone.request, tables)};
  plan.updates = plan_updates(alone.request, plan.distribution, tables);
  return choose_units(plan.unit_request(), make_unit_graph(plan.unit_request()), table);
}

std::vector<std::int32_t> all_devices(const Machine& machine) {
  std::vector<std::int32_t> devices(machine.devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

}  // namespace

bool decide(ProgramPlan& plan, PlanTables& tables, const KernelTable& table) {
  plan.updates = plan_updates(plan.request, plan.distribution, tables);
  UnitGraph units = make_unit_graph(plan.unit_request());
  for (const KernelRequest& row : rows_of(units, *plan.request.machine))
    if (table.find(row.kind, row.key) == nullptr) return false;
  bool fixed = plan.request.strategy->sync.fixed_order && plan.has_peers();
  plan.units = fixed ? units_on_one_device(plan.request, table)
                     : choose_units(plan.unit_request(), std::move(units), table);
  settle(plan);
  return true;
}

LowerResult lower(const LowerRequest& request, const KernelTable& table) {
  if (auto reason = why_infeasible(*request.strategy, *request.graph, *request.machine))
    return Infeasible{*reason};
  if (auto reason = why_no_algorithms(request.strategy->sync)) return Infeasible{*reason};
  if (auto reason = why_out_of_ids({.micro_batches = request.strategy->micro_batches,
                                    .operators = std::ssize(request.graph->operators),
                                    .tensors = std::ssize(request.graph->tensors),
                                    .parameters = std::ssize(request.graph->parameters),
                                    .devices = std::ssize(request.machine->devices)}))
    return Infeasible{*reason};
  PlanTables tables(*request.graph, *request.machine);
  ProgramPlan plan{request, tables, distribute(request, tables)};
  if (!decide(plan, tables, table)) {
    std::vector<KernelRequest> missing = rows_needed(request);
    std::erase_if(missing, [&](const KernelRequest& row) {
      return table.find(row.kind, row.key) != nullptr;
    });
    return MissingRows{missing};
  }
  PlannedTasks planned = plan_tasks(plan, all_devices(*request.machine));
  Bound bound = bind(plan, planned, table);
  if (!bound.missing.empty()) return MissingRows{bound.missing};
  TaskGraph& tasks = bound.graph;
  LinkCosts links = request.links != nullptr ? *request.links : assumed_link_costs();
  choose_algorithms(tasks, {*request.machine, links, request.strategy->sync});
  verify(tasks, Stage::chosen);
  place_buffers(tasks, *request.machine, table);
  tasks.dependencies = find_dependencies(tasks);
  verify(tasks, Stage::placed);
  return std::move(tasks);
}

std::vector<KernelRequest> rows_needed(const LowerRequest& request) {
  PlanTables tables(*request.graph, *request.machine);
  ProgramPlan plan{request, tables, distribute(request, tables)};
  plan.updates = plan_updates(request, plan.distribution, tables);
  UnitGraph units = make_unit_graph(plan.unit_request());
  std::vector<KernelRequest> rows = rows_of(units, *request.machine);
  if (request.strategy->sync.fixed_order && plan.has_peers()) {
    AloneRequest alone(request);
    std::ranges::move(rows_needed(alone.request), std::back_inserter(rows));
  }
  // Sums and copies do not depend on kernels, but for reorders, which are asked for later.
  plan.units = plain_units(plan.unit_request(), units);
  settle(plan);
  PlannedTasks planned = plan_tasks(plan, all_devices(*request.machine));
  std::ranges::move(bind(plan, planned, {}).missing, std::back_inserter(rows));
  std::map<std::pair<std::string, std::string>, KernelRequest> distinct;
  for (KernelRequest& row : rows)
    distinct.try_emplace({row.kind, to_text(row.key)}, std::move(row));
  rows.clear();
  for (auto& [text, row] : distinct) rows.push_back(std::move(row));
  return rows;
}

}  // namespace troika
