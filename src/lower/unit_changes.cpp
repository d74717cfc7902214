#include "lower/unit_changes.h"

#include <algorithm>

namespace troika {
namespace {

class UnitChange {
 public:
  UnitChange(ProgramPlan& plan, const UnitChooser& chooser, Touched& touched)
      : plan_(plan),
        chooser_(chooser),
        regions_(plan.tables.regions),
        touched_(touched),
        is_touched_(plan.request.graph->operators.size()) {}

  bool run(std::vector<std::int32_t>& decided) {
    note_operators();
    fit_sizes();
    for (std::size_t border = 0; border < regions_.borders.size(); ++border)
      if (has_touched(regions_.borders[border].window) && !decide_border(border)) return false;
    // Borders widen what is touched, so regions are looked at when all of them are decided.
    for (std::size_t region = 0; region < regions_.regions.size(); ++region)
      if (has_touched(regions_.regions[region].operators) && !decide_region(region, decided))
        return false;
    std::ranges::sort(decided);
    return true;
  }

 private:
  const Outline& outline() const { return plan_.distribution.outline; }
  const DistributedValue& value(std::int32_t at) const {
    return plan_.distribution.values[as_index(at)];
  }
  std::size_t kinds_of(TileSetId set) const {
    return plan_.distribution.kinds_of(set).first.size();
  }

  void note_operators() {
    for (std::int32_t job : touched_.jobs)
      is_touched_[as_index(outline().jobs[as_index(job)].op)] = true;
    for (std::int32_t update : touched_.updates) {
      auto weight = as_index(plan_.updates[as_index(update)].weight);
      is_touched_[as_index(outline().values[weight].slots.at(0).op)] = true;
    }
  }

  bool has_touched(const std::vector<std::int32_t>& operators) const {
    return std::ranges::any_of(operators,
                               [&](std::int32_t op) { return is_touched_[as_index(op)]; });
  }

  /// A tile set may have more kinds of tiles than before, or fewer.
  void fit_sizes() {
    for (std::int32_t job : touched_.jobs)
      plan_.units.jobs[as_index(job)].resize(kinds_of(plan_.distribution.jobs[as_index(job)].set));
    for (std::int32_t at : touched_.updates) {
      const UpdatePlan& update = plan_.updates[as_index(at)];
      plan_.units.updates[as_index(at)].assign(kinds_of(value(update.weight).stored.set),
                                               std::vector<KernelUnit>(update.phases.size()));
    }
    for (std::int32_t at : touched_.values) {
      if (value(at).stored.shared)
        plan_.units.stored[as_index(at)].resize(kinds_of(value(at).stored.set), Layout::plain);
      std::vector<Layout>& border = plan_.units.borders[as_index(at)];
      if (!border.empty())
        border.resize(std::max<std::size_t>(outline().values[as_index(at)].writers.size(), 1),
                      Layout::plain);
    }
  }

  bool decide_border(std::size_t border) {
    std::vector<std::int32_t> values = values_of(outline(), regions_.borders[border]);
    std::vector<std::vector<Layout>> before;
    for (std::int32_t at : values) before.push_back(plan_.units.borders[as_index(at)]);
    if (!chooser_.decide_border(border, plan_.units)) return false;
    for (std::size_t each = 0; each < values.size(); ++each)
      if (before[each] != plan_.units.borders[as_index(values[each])])
        for (const ValueUse& use : outline().values[as_index(values[each])].uses)
          is_touched_[as_index(outline().jobs[as_index(use.job)].op)] = true;
    return true;
  }

  bool decide_region(std::size_t region, std::vector<std::int32_t>& decided) {
    Touched inside;  // everything that the region decides about
    for (std::int32_t op : regions_.regions[region].operators) {
      for (std::int32_t job : outline().jobs_of[as_index(op)]) {
        inside.jobs.push_back(job);
        for (std::int32_t at : outline().jobs[as_index(job)].values)
          if (at >= 0 && outline().values[as_index(at)].kind == ValueKind::parameter)
            inside.values.push_back(at);
      }
      std::ranges::copy(chooser_.index().updates[as_index(op)], std::back_inserter(inside.updates));
    }
    KernelUnits& units = plan_.units;
    auto jobs = copies_of(inside.jobs, units.jobs);
    auto updates = copies_of(inside.updates, units.updates);
    auto stored = copies_of(inside.values, units.stored);
    if (!chooser_.decide_region(region, units)) return false;
    add_changed(inside.jobs, jobs, units.jobs, touched_.jobs);
    add_changed(inside.updates, updates, units.updates, touched_.updates);
    add_changed(inside.values, stored, units.stored, touched_.values);
    std::ranges::copy(inside.jobs, std::back_inserter(decided));
    return true;
  }

  template <class Units>
  static Units copies_of(std::span<const std::int32_t> list, const Units& units) {
    Units copies;
    for (std::int32_t at : list) copies.push_back(units[as_index(at)]);
    return copies;
  }

  template <class Units>
  static void add_changed(std::span<const std::int32_t> list, const Units& before,
                          const Units& units, std::vector<std::int32_t>& changed) {
    for (std::size_t at = 0; at < list.size(); ++at)
      if (before[at] != units[as_index(list[at])]) changed.push_back(list[at]);
  }

  ProgramPlan& plan_;
  const UnitChooser& chooser_;
  const UnitRegions& regions_;
  Touched& touched_;
  std::vector<bool> is_touched_;  // by operator
};

}  // namespace

bool decide_again(ProgramPlan& plan, const UnitChooser& chooser, Touched& touched,
                  std::vector<std::int32_t>& decided) {
  bool complete = UnitChange(plan, chooser, touched).run(decided);
  sort_all(touched);
  return complete;
}

}  // namespace troika
