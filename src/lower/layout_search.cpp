#include "lower/layout_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

constexpr int kMostSweeps = 20;

/// Units that take one kernel, with the values that they use, each once.
struct Replicas {
  std::vector<std::int32_t> units, values;
  std::vector<std::int32_t> places;  // by unit and operand: in the list of values
};

/// Units that pass a layout on, joined by the values between them, and the units around them.
struct Group {
  std::vector<std::int32_t> members, around;
  std::vector<std::int32_t> touched, values;  // both with their replicas; what these use
  LayoutSet layouts;  // that any of them could give the values between the members
};

/// Units that can read one value in panels. Packing takes about as long as one of them gains, so
/// it pays for several units only.
struct Packing {
  std::int32_t value;
  Layout panels;
  std::vector<std::int32_t> readers;          // those that decide for their replicas
  std::vector<std::int32_t> touched, values;  // with replicas; what these use
};

class Search {
 public:
  Search(const UnitGraph& graph, const Machine& machine, const KernelTable& table)
      : graph_(graph),
        model_(graph, machine, table),
        first_(graph.units.size()),
        replicas_(graph.units.size()),
        place_(model_.value_count(), -1) {
    find_replicas();
    find_groups();
    find_packings();
  }

  /// Starts anew.
  void run() {
    for (std::size_t at = 0; at < graph_.units.size(); ++at) model_.set_pick(at, {});
    for (std::size_t at = 0; at < model_.value_count(); ++at)
      model_.value(static_cast<std::int32_t>(at)).stored.reset();
    sweep_units();
    bool moved = true;
    for (int sweep = 0; sweep < kMostSweeps && moved; ++sweep) {
      moved = false;
      for (const Group& group : groups_) moved = improve(group) || moved;
      for (const Packing& packing : packings_) moved = improve(packing) || moved;
      moved = sweep_units() || moved;
    }
  }

  double cost() {
    std::vector<std::int32_t> units(graph_.units.size());
    std::iota(units.begin(), units.end(), 0);
    return model_.cost(units, values_of(units));
  }

  std::vector<Layout> buffers() const {
    std::vector<Layout> layouts;
    layouts.reserve(graph_.buffers.size());
    for (std::size_t at = 0; at < graph_.buffers.size(); ++at) {
      const LayoutValue& value = model_.value(model_.value_of(static_cast<std::int32_t>(at)));
      layouts.push_back(LayoutModel::layout(value).value_or(Layout::plain));
    }
    return layouts;
  }

  LayoutChoices choices() {
    LayoutChoices found{.buffers = buffers(), .cost = cost()};
    for (std::size_t at = 0; at < graph_.units.size(); ++at) {
      LayoutPick pick = model_.pick(at);
      found.candidates.push_back(pick.option < 0 ? nullptr
                                                 : model_.option(at, pick.option).candidate);
      found.kernels.push_back(kernel_of(at));
    }
    return found;
  }

  LayoutModel& model() { return model_; }

 private:
  KernelChoice kernel_of(std::size_t at) const {
    LayoutPick pick = model_.pick(at);
    if (pick.option < 0) return {};
    const LayoutModel::Option& option = model_.option(at, pick.option);
    KernelChoice made{option.candidate->algorithm, option.candidate->layouts,
                      option.candidate->scratch, option.time};
    for (std::size_t use = 0; use < made.layouts.size(); ++use)
      made.layouts[use] = model_.layout(at, pick, use);
    return made;
  }

  /// The first of the units that take one kernel decides for all.
  void find_replicas() {
    for (std::size_t at = 0; at < graph_.units.size(); ++at) {
      first_[at] = static_cast<std::int32_t>(at);
      const Unit& unit = graph_.units[at];
      // A kind has no copies before its leader, and units of one job are near each other.
      for (std::size_t other = at; !unit.is_sum() && unit.kind > unit.leader && other-- > 0;) {
        if (!is_replica(graph_.units[other], unit)) continue;
        first_[at] = first_[other];
        break;
      }
      replicas_[as_index(first_[at])].units.push_back(static_cast<std::int32_t>(at));
    }
    for (Replicas& each : replicas_) {
      each.values = values_of(each.units);
      for (std::size_t at = 0; at < each.values.size(); ++at)
        place_[as_index(each.values[at])] = static_cast<std::int32_t>(at);
      for (std::int32_t unit : each.units)
        for (const LayoutModel::Use& use : model_.uses(as_index(unit)))
          each.places.push_back(place_[as_index(use.value)]);
      for (std::int32_t value : each.values) place_[as_index(value)] = -1;
    }
  }

  static bool is_replica(const Unit& a, const Unit& b) {
    return a.job == b.job && a.update == b.update && a.phase == b.phase && a.leader == b.leader &&
           a.key == b.key;
  }

  std::vector<std::int32_t> values_of(const std::vector<std::int32_t>& units) {
    std::vector<std::int32_t> values;
    for (std::int32_t unit : units)
      for (const LayoutModel::Use& use : model_.uses(as_index(unit)))
        if (std::exchange(place_[as_index(use.value)], 0) < 0) values.push_back(use.value);
    for (std::int32_t value : values) place_[as_index(value)] = -1;
    return values;
  }

  /// Whether the operand lies as the first one, by every candidate of the unit.
  bool is_tied(std::size_t unit, std::size_t operand, bool flat) const {
    if (flat) return model_.uses(unit)[operand].is_alike;
    auto rank = [&](std::size_t at) {
      return graph_.buffers[as_index(graph_.units[unit].uses[at].buffer)].spec.shape.rank();
    };
    return rank(operand) == rank(0);
  }

  bool passes_layout_on(std::size_t unit) const {
    for (const LayoutModel::Option& option : model_.options(unit)) {
      const std::vector<Layout>& layouts = option.candidate->layouts;
      for (std::size_t use = 0; use < layouts.size(); ++use)
        if (layouts[use] != layouts[0] && is_tied(unit, use, option.candidate->flat)) return false;
    }
    return !model_.options(unit).empty();
  }

  void find_groups() {
    std::size_t count = graph_.units.size();
    std::vector<bool> passes(count), grouped(count), is_around(count);
    for (std::size_t at = 0; at < count; ++at) passes[at] = passes_layout_on(at);
    for (std::size_t first = 0; first < count; ++first) {
      if (!passes[first] || grouped[first]) continue;
      Group group{.members = {static_cast<std::int32_t>(first)}};
      std::vector<std::int32_t> seen;
      grouped[first] = true;
      for (std::size_t next = 0; next < group.members.size(); ++next) {
        for_each_neighbour(as_index(group.members[next]), seen, [&](std::int32_t other) {
          std::vector<bool>& noted = passes[as_index(other)] ? grouped : is_around;
          if (noted[as_index(other)]) return;
          noted[as_index(other)] = true;
          (passes[as_index(other)] ? group.members : group.around).push_back(other);
        });
      }
      for (std::int32_t unit : group.around) is_around[as_index(unit)] = false;
      std::ranges::sort(group.around);
      find_touched(group);
      for (std::int32_t unit : group.touched) insert_offered(as_index(unit), group.layouts);
      for (std::int32_t value : seen) place_[as_index(value)] = -1;
      group.values = values_of(group.touched);
      auto decides = [&](std::int32_t unit) { return first_[as_index(unit)] == unit; };
      if (std::ranges::any_of(group.members, decides)) groups_.push_back(std::move(group));
    }
  }

  void find_touched(Group& group) const {
    for (const std::vector<std::int32_t>* units : {&group.members, &group.around}) {
      for (std::int32_t unit : *units) {
        const Replicas& all = replicas_of(unit);
        group.touched.insert(group.touched.end(), all.units.begin(), all.units.end());
      }
    }
    std::ranges::sort(group.touched);
    group.touched.erase(std::unique(group.touched.begin(), group.touched.end()),
                        group.touched.end());
  }

  /// Layouts in which a unit could take the values that are marked.
  void insert_offered(std::size_t unit, LayoutSet& layouts) const {
    std::span<const LayoutModel::Use> uses = model_.uses(unit);
    for (std::size_t at = 0; at < uses.size(); ++at)
      if (place_[as_index(uses[at].value)] >= 0)
        for (const LayoutModel::Option& option : model_.options(unit))
          layouts.insert(option.candidate->layouts[at]);
  }

  void find_packings() {
    for (std::size_t at = 0; at < model_.value_count(); ++at) {
      auto value = static_cast<std::int32_t>(at);
      std::int32_t buffer = model_.value(value).buffer;
      if (buffer < 0) continue;  // a buffer that lies as another one does
      if (!fits(Layout::panels8, graph_.buffers[as_index(buffer)].spec.shape)) continue;
      panel_layouts_of(value).for_each([&](Layout panels) {
        Packing packing{value, panels, {}, {}, {}};
        for (std::int32_t unit : model_.users(value)) {
          if (first_[as_index(unit)] != unit || !offers(unit, packing)) continue;
          packing.readers.push_back(unit);
          const std::vector<std::int32_t>& all = replicas_of(unit).units;
          packing.touched.insert(packing.touched.end(), all.begin(), all.end());
        }
        packing.values = values_of(packing.touched);
        if (packing.readers.size() > 1) packings_.push_back(std::move(packing));
      });
    }
  }

  /// In which some unit could read the value.
  LayoutSet panel_layouts_of(std::int32_t value) const {
    LayoutSet layouts;
    for (std::int32_t unit : model_.users(value)) {
      std::span<const LayoutModel::Use> uses = model_.uses(as_index(unit));
      for (const LayoutModel::Option& option : model_.options(as_index(unit)))
        for (std::size_t at = 0; at < uses.size(); ++at)
          if (uses[at].value == value && uses[at].reads && panels_of(option.candidate->layouts[at]))
            layouts.insert(option.candidate->layouts[at]);
    }
    return layouts;
  }

  bool offers(std::int32_t unit, const Packing& packing) const {
    auto count = std::ssize(model_.options(as_index(unit)));
    for (std::int32_t option = 0; option < count; ++option)
      if (reads_panels(unit, {option}, packing)) return true;
    return false;
  }

  bool reads_panels(std::int32_t unit, LayoutPick pick, const Packing& packing) const {
    std::span<const LayoutModel::Use> uses = model_.uses(as_index(unit));
    for (std::size_t at = 0; at < uses.size(); ++at)
      if (uses[at].value == packing.value && uses[at].reads &&
          model_.layout(as_index(unit), pick, at) == packing.panels)
        return true;
    return false;
  }

  const Replicas& replicas_of(std::int32_t unit) const {
    return replicas_[as_index(first_[as_index(unit)])];
  }

  /// Units that use a value which this one hands on in its own layout, and that is not yet seen.
  template <class Visit>
  void for_each_neighbour(std::size_t unit, std::vector<std::int32_t>& seen, Visit&& visit) {
    bool flat = model_.is_flat(unit, 0);
    std::span<const LayoutModel::Use> uses = model_.uses(unit);
    for (std::size_t at = 0; at < uses.size(); ++at) {
      std::int32_t& mark = place_[as_index(uses[at].value)];
      if (mark >= 0 || !is_tied(unit, at, flat)) continue;
      mark = 0;
      seen.push_back(uses[at].value);
      for (std::int32_t user : model_.users(uses[at].value)) visit(user);
    }
  }

  bool sweep_units() {
    bool moved = false;
    for (std::size_t at = 0; at < graph_.units.size(); ++at)
      moved = improve(static_cast<std::int32_t>(at)) || moved;
    for (std::size_t at = 0; at < model_.value_count(); ++at)
      moved = improve_storage(model_.value(static_cast<std::int32_t>(at))) || moved;
    return moved;
  }

  void set_pick(const Replicas& all, LayoutPick pick) {
    for (std::int32_t unit : all.units) model_.set_pick(as_index(unit), pick);
  }

  bool improve(std::int32_t at) {
    auto unit = as_index(at);
    std::span<const LayoutModel::Option> options = model_.options(unit);
    if (options.empty() || first_[unit] != at) return false;
    const Replicas& all = replicas_[unit];
    LayoutPick now = model_.pick(unit), best = now;
    bool has_choice = options.size() > 1 || options[0].candidate->flat;
    if (now.option >= 0 && !has_choice) return false;
    LayoutSet layouts;
    for (std::int32_t value : all.values)
      layouts.insert(LayoutModel::layouts_around(model_.value(value)));
    set_pick(all, {});
    double best_cost = now.option >= 0 ? cost_with(all, now) : LayoutModel::kNever;
    for (std::size_t option = 0; option < options.size(); ++option) {
      // Reorders only add to the time.
      if (time_of(all, options[option]) >= best_cost) continue;
      auto try_pick = [&](LayoutPick pick) {
        if (double sum = cost_with(all, pick); sum < best_cost) best = pick, best_cost = sum;
      };
      model_.for_each_variant(unit, static_cast<std::int32_t>(option), layouts, try_pick);
    }
    if (best.option < 0) throw Bug("no possible kernel for " + to_text(graph_.units[unit].key));
    set_pick(all, best);
    return best != now;
  }

  static double time_of(const Replicas& all, const LayoutModel::Option& option) {
    return static_cast<double>(option.time.count) * static_cast<double>(all.units.size());
  }

  /// Of the units, which have no pick, and of the values that they use, if they had this one.
  double cost_with(const Replicas& all, LayoutPick pick) {
    picked_.clear();
    for (std::int32_t value : all.values) picked_.push_back(model_.value(value).picked);
    std::size_t next = 0;
    for (std::int32_t unit : all.units) {
      std::span<const LayoutModel::Use> uses = model_.uses(as_index(unit));
      for (std::size_t at = 0; at < uses.size(); ++at) {
        PickedLayouts& picked = picked_[as_index(all.places[next++])];
        (uses[at].reads ? picked.wanted : picked.written)
            .insert(model_.layout(as_index(unit), pick, at));
      }
    }
    double sum = time_of(all, model_.option(as_index(all.units[0]), pick.option));
    for (std::size_t at = 0; at < picked_.size(); ++at)
      sum += model_.value_cost(model_.value(all.values[at]), picked_[at]);
    return sum;
  }

  bool improve(const Group& group) {
    bool moved = false;
    group.layouts.for_each([&](Layout each) { moved = try_layout(group, each) || moved; });
    return moved;
  }

  bool try_layout(const Group& group, Layout wanted) {
    double before = model_.cost(group.touched, group.values);
    kept_.clear();
    for (std::int32_t unit : group.touched) kept_.push_back(model_.pick(as_index(unit)));
    for (std::int32_t unit : group.members) follow(unit, wanted);
    for (std::int32_t unit : group.around) improve(first_[as_index(unit)]);
    if (model_.cost(group.touched, group.values) < before) return true;
    for (std::size_t at = 0; at < group.touched.size(); ++at)
      model_.set_pick(as_index(group.touched[at]), kept_[at]);
    return false;
  }

  /// All readers take the panels, or none does.
  bool improve(const Packing& packing) {
    return try_panels(packing, true) || try_panels(packing, false);
  }

  bool try_panels(const Packing& packing, bool packed) {
    double before = model_.cost(packing.touched, packing.values);
    kept_.clear();
    for (std::int32_t unit : packing.touched) kept_.push_back(model_.pick(as_index(unit)));
    for (std::int32_t unit : packing.readers) pick_best(unit, packing, packed);
    if (model_.cost(packing.touched, packing.values) < before) return true;
    for (std::size_t at = 0; at < packing.touched.size(); ++at)
      model_.set_pick(as_index(packing.touched[at]), kept_[at]);
    return false;
  }

  /// Of the picks that read the panels, or of those that do not.
  void pick_best(std::int32_t unit, const Packing& packing, bool packed) {
    const Replicas& all = replicas_of(unit);
    LayoutPick best = model_.pick(as_index(unit));
    double best_cost = LayoutModel::kNever;
    LayoutSet layouts;
    for (std::int32_t value : all.values)
      layouts.insert(LayoutModel::layouts_around(model_.value(value)));
    set_pick(all, {});
    auto count = std::ssize(model_.options(as_index(unit)));
    for (std::int32_t option = 0; option < count; ++option) {
      model_.for_each_variant(as_index(unit), option, layouts, [&](LayoutPick pick) {
        if (reads_panels(unit, pick, packing) != packed) return;
        if (double sum = cost_with(all, pick); sum < best_cost) best = pick, best_cost = sum;
      });
    }
    set_pick(all, best);
  }

  /// The fastest kernel of that layout, where there is one that may be.
  void follow(std::int32_t at, Layout wanted) {
    const Replicas& all = replicas_of(at);
    auto unit = as_index(at);
    LayoutPick best;
    for (std::size_t option = 0; option < model_.options(unit).size(); ++option) {
      auto try_pick = [&](LayoutPick pick) {
        if (model_.layout(unit, pick, 0) != wanted) return;
        bool faster = best.option < 0 ||
                      model_.option(unit, pick.option).time < model_.option(unit, best.option).time;
        if (faster && is_free(all, pick)) best = pick;
      };
      model_.for_each_variant(unit, static_cast<std::int32_t>(option), wanted, try_pick);
    }
    if (best.option >= 0) set_pick(all, best);
  }

  /// What the units write is not fixed to lie otherwise.
  bool is_free(const Replicas& all, LayoutPick pick) const {
    for (std::int32_t unit : all.units) {
      std::span<const LayoutModel::Use> uses = model_.uses(as_index(unit));
      for (std::size_t at = 0; at < uses.size(); ++at) {
        if (uses[at].reads) continue;
        const LayoutValue& value = model_.value(uses[at].value);
        if (value.fixed && *value.fixed != model_.layout(as_index(unit), pick, at)) return false;
      }
    }
    return true;
  }

  /// A value that no unit writes lies as suits its readers best.
  bool improve_storage(LayoutValue& value) {
    if (value.fixed || value.has_writers || value.picked.wanted.empty()) return false;
    std::optional<Layout> best;
    double best_cost = LayoutModel::kNever;
    LayoutModel::layouts_around(value).for_each([&](Layout each) {
      double sum = model_.reorder_cost(value, value.picked.wanted, each);
      if (sum < best_cost) best = each, best_cost = sum;
    });
    return std::exchange(value.stored, best) != best;
  }

  const UnitGraph& graph_;
  LayoutModel model_;
  std::vector<std::int32_t> first_;  // by unit: the one that decides for it
  std::vector<Replicas> replicas_;   // by that one
  std::vector<Group> groups_;
  std::vector<Packing> packings_;
  std::vector<std::int32_t> place_;    // by value: in a list, or a mark; -1 between uses
  std::vector<LayoutPick> kept_;       // of a trial
  std::vector<PickedLayouts> picked_;  // of a trial, by value of the units
};

/// The values between the units and the outside, with what is known about them.
class Ends {
 public:
  Ends(const UnitGraph& graph, LayoutModel& model) : graph_(graph), model_(model) {
    for (std::int32_t buffer : graph.from_outside)
      if (!value(buffer).fixed) from_.push_back(buffer);
    for (std::int32_t buffer : graph.to_outside) asked_.push_back(value(buffer).asked);
  }

  void assume(Layout layout) {
    for (std::int32_t buffer : from_) value(buffer).fixed = fitting(buffer, layout);
    for (std::size_t at = 0; at < asked_.size(); ++at) {
      std::int32_t buffer = graph_.to_outside[at];
      value(buffer).asked = asked_[at];
      value(buffer).asked.insert(fitting(buffer, layout));
    }
  }

 private:
  LayoutValue& value(std::int32_t buffer) { return model_.value(model_.value_of(buffer)); }
  Layout fitting(std::int32_t buffer, Layout layout) const {
    return fits(layout, graph_.buffers[as_index(buffer)].spec.shape) ? layout : Layout::plain;
  }

  const UnitGraph& graph_;
  LayoutModel& model_;
  std::vector<std::int32_t> from_;  // those that nothing else fixes
  std::vector<LayoutSet> asked_;    // of those that go outside
};

}  // namespace

LayoutChoices search_layouts(const UnitGraph& graph, const Machine& machine,
                             const KernelTable& table) {
  Search search(graph, machine, table);
  search.run();
  return search.choices();
}

std::vector<Layout> search_with_ends(const UnitGraph& graph, const Machine& machine,
                                     const KernelTable& table, LayoutSet ends) {
  Search search(graph, machine, table);
  Ends outside(graph, search.model());
  std::vector<Layout> best;
  double least = LayoutModel::kNever;
  ends.for_each([&](Layout layout) {
    outside.assume(layout);
    search.run();
    double cost = search.cost();
    if (cost < least) best = search.buffers(), least = cost;
  });
  return best;
}

}  // namespace troika
