#include "lower/kernel_units.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/border_window.h"
#include "lower/fuse.h"
#include "lower/layout_search.h"

namespace troika {
namespace {

KernelUnit& unit_at(KernelUnits& units, const Unit& unit) {
  auto kind = as_index(unit.kind);
  if (unit.job >= 0) return units.jobs[as_index(unit.job)][kind];
  return units.updates[as_index(unit.update)][kind][as_index(unit.phase)];
}

/// Moves what is decided about a unit; a sum's layout follows from those of its terms.
void note(KernelUnits& units, Unit& unit, KernelChoice choice, const Candidate* candidate) {
  if (unit.is_sum()) return;
  KernelUnit& made = unit_at(units, unit);
  made = {.key = std::move(unit.key), .choice = std::move(choice)};
  if (candidate != nullptr) made.in_place = candidate->in_place;
  made.operands.reserve(unit.uses.size());
  for (const UnitUse& use : unit.uses) made.operands.push_back(use.of);
}

void note_stored(KernelUnits& units, const UnitGraph& graph, const std::vector<Layout>& layouts) {
  for (const UnitGraph::Piece& piece : graph.stored)
    units.stored[as_index(piece.value)][as_index(piece.kind)] = layouts[as_index(piece.buffer)];
}

void require_kernels(const UnitRequest& request, const UnitGraph& graph) {
  for (const Unit& unit : graph.units) {
    if (unit.row == nullptr || !unit.row->empty()) continue;
    std::string name = "sum";
    const Graph& model = *request.request.graph;
    if (unit.job >= 0) {
      const Job& job = request.distribution.outline.jobs[as_index(unit.job)];
      name =
          fmt::format("{} {}", model.operators[as_index(job.op)].name, to_string(job.phase->phase));
    } else if (unit.update >= 0) {
      const UpdatePlan& update = request.updates[as_index(unit.update)];
      name = model.parameters[as_index(update.parameter)].name + " update";
    }
    throw Error(ErrorKind::usage,
                fmt::format("no kernel for task '{}': {}", name, to_text(unit.key)));
  }
}

KernelUnits no_units(const UnitRequest& request) {
  const Distribution& distribution = request.distribution;
  KernelUnits made;
  for (const JobTiles& tiles : distribution.jobs)
    made.jobs.emplace_back(distribution.kinds_of(tiles.set).first.size());
  for (const UpdatePlan& update : request.updates) {
    const Participant& stored = distribution.values[as_index(update.weight)].stored;
    made.updates.emplace_back(distribution.kinds_of(stored.set).first.size(),
                              std::vector<KernelUnit>(update.phases.size()));
  }
  made.stored.resize(distribution.values.size());
  for (std::size_t at = 0; at < distribution.values.size(); ++at) {
    const Participant& stored = distribution.values[at].stored;
    if (stored.shared)
      made.stored[at].assign(distribution.kinds_of(stored.set).first.size(), Layout::plain);
  }
  made.borders.resize(distribution.values.size());
  return made;
}

}  // namespace

std::vector<std::int32_t> values_of(const Outline& outline, const RegionBorder& border) {
  std::vector<std::int32_t> values;
  for (std::int32_t tensor : border.tensors) {
    values.push_back(outline.tensors[as_index(tensor)]);
    values.push_back(outline.gradients[as_index(tensor)]);
  }
  for (std::int32_t parameter : border.parameters) {
    values.push_back(outline.parameters[as_index(parameter)]);
    values.push_back(outline.parameter_gradients[as_index(parameter)]);
  }
  std::erase(values, -1);
  return values;
}

std::vector<KernelRequest> rows_of(const UnitRequest& request, const UnitRegions& regions) {
  UnitIndex index(request);
  const Machine& machine = *request.request.machine;
  std::vector<KernelRequest> rows;
  BorderLayouts borders(request.distribution.values.size());
  for (const UnitRegion& region : regions.regions) {
    UnitGraph graph = make_unit_graph(request, index, {region.operators, &borders});
    for (const FusedChain& chain : find_chains(graph))
      rows.push_back({machine[graph.units[chain.units[0]].device].kind, chain.key});
    for (Unit& unit : graph.units) rows.push_back({machine[unit.device].kind, std::move(unit.key)});
  }
  return rows;
}

KernelUnits plain_units(const UnitRequest& request, const UnitRegions& regions) {
  UnitIndex index(request);
  KernelUnits made = no_units(request);
  for (const UnitRegion& region : regions.regions) {
    UnitGraph graph = make_unit_graph(request, index, {region.operators, &made.borders});
    for (Unit& unit : graph.units)
      note(made, unit, {"", std::vector(unit.uses.size(), Layout::plain), {}, {}}, nullptr);
  }
  return made;
}

KernelUnits UnitChooser::undecided() const {
  KernelUnits made = no_units(request_);
  const Outline& outline = request_.distribution.outline;
  for (const RegionBorder& border : regions_.borders)
    for (std::int32_t value : values_of(outline, border))
      made.borders[as_index(value)].assign(
          std::max<std::size_t>(outline.values[as_index(value)].writers.size(), 1), Layout::plain);
  return made;
}

bool UnitChooser::decide_border(std::size_t border, KernelUnits& units) const {
  const RegionBorder& own = regions_.borders[border];
  if (own.is_plain) return true;
  const Machine& machine = *request_.request.machine;
  UnitGraph window = make_unit_graph(request_, index_,
                                     {.operators = own.window, .updates = !own.parameters.empty()});
  find_rows(window, machine, table_);
  auto lacks_row = [](const Unit& unit) { return unit.row == nullptr && !unit.is_sum(); };
  if (std::ranges::any_of(window.units, lacks_row)) return false;
  require_kernels(request_, window);
  BorderWindow(window, machine, table_)
      .decide(values_of(request_.distribution.outline, own), units.borders);
  return true;
}

bool UnitChooser::decide_region(std::size_t region, KernelUnits& units) const {
  const Machine& machine = *request_.request.machine;
  UnitGraph graph =
      make_unit_graph(request_, index_,
                      {.operators = regions_.regions[region].operators, .borders = &units.borders});
  std::vector<FusedChain> chains = find_chains(graph);
  if (!find_rows(graph, machine, table_) || !find_chain_rows(chains, graph, machine, table_))
    return false;
  require_kernels(request_, graph);
  for (const Unit& unit : fuse(graph, chains)) unit_at(units, unit) = {.is_fused_away = true};
  LayoutChoices found = search_layouts(graph, machine, table_);
  note_stored(units, graph, found.buffers);
  for (std::size_t at = 0; at < graph.units.size(); ++at) {
    note(units, graph.units[at], std::move(found.kernels[at]), found.candidates[at]);
  }
  return true;
}

std::optional<KernelUnits> choose_units(const UnitRequest& request, const UnitRegions& regions,
                                        const KernelTable& table) {
  UnitChooser chooser(request, regions, table);
  KernelUnits units = chooser.undecided();
  for (std::size_t border = 0; border < regions.borders.size(); ++border)
    if (!chooser.decide_border(border, units)) return {};
  for (std::size_t region = 0; region < regions.regions.size(); ++region)
    if (!chooser.decide_region(region, units)) return {};
  return units;
}

}  // namespace troika
