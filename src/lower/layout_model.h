// The cost of a choice of kernels: their times, and the reorders of values that lie otherwise than
// a reader wants.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lower/layout_set.h"
#include "lower/unit_graph.h"

namespace troika {

/// One of a unit's options, and how it lies if it takes any layout.
struct LayoutPick {
  std::int32_t option = -1;  ///< -1: none yet.
  Layout flat = Layout::plain;

  bool operator==(const LayoutPick&) const = default;
};

/// How units' picks leave a value, and how they want it.
struct PickedLayouts {
  LayoutSet written{}, wanted{};
};

/// A buffer, with the views of its own shape and those that must lie alike.
struct LayoutValue {
  std::optional<Layout> fixed{};          ///< By a border, the host, or a view of another shape.
  std::optional<Layout> stored{};         ///< Of a value that no unit here writes.
  LayoutSet possible = LayoutSet::all();  ///< Where writers must agree: for all of them.
  LayoutSet asked{};                      ///< By the host, by views of another shape, or outside.
  bool has_writers = false;
  std::int32_t buffer = -1;
  mutable std::int32_t reorders = -1;  ///< Index of its known times; -1: none yet.
  DeviceId device{};                   ///< Of a unit that uses it.
  PickedLayouts picked{};
  std::array<std::int16_t, kLayoutCount> written_by{}, wanted_by{};  ///< How many picks.
};

/// Borrows graph and table. Units without a pick cost nothing and ask for nothing.
class LayoutModel {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// An operand of a unit.
  struct Use {
    std::int32_t value = -1;
    bool reads = true;
    /// It has the shape of the first one, so a flat candidate gives it the same layout.
    bool is_alike = true;
  };
  /// A candidate: of those with equal layouts the fastest.
  struct Option {
    const Candidate* candidate = nullptr;
    SimTime time{};  ///< Measured, or by rule.
  };

  /// Precondition: each unit has a row that is not empty; a sum without one takes no part.
  LayoutModel(const UnitGraph& graph, const Machine& machine, const KernelTable& table);

  std::span<const Use> uses(std::size_t unit) const {
    return {uses_.data() + first_use_[unit], first_use_[unit + 1] - first_use_[unit]};
  }
  std::span<const Option> options(std::size_t unit) const {
    return {options_.data() + first_option_[unit], first_option_[unit + 1] - first_option_[unit]};
  }
  const Option& option(std::size_t unit, std::int32_t at) const {
    return options_[first_option_[unit] + as_index(at)];
  }
  bool is_flat(std::size_t unit, std::int32_t at) const { return option(unit, at).candidate->flat; }
  /// How the operand lies by a pick.
  Layout layout(std::size_t unit, LayoutPick pick, std::size_t operand) const {
    bool follows = pick.flat != Layout::plain && uses(unit)[operand].is_alike;
    return follows ? pick.flat : option(unit, pick.option).candidate->layouts[operand];
  }
  /// Visits the option as it is, and a flat one in each of the layouts that fit.
  template <class Visit>
  void for_each_variant(std::size_t unit, std::int32_t option, LayoutSet layouts,
                        Visit&& visit) const {
    visit(LayoutPick{option});
    if (!is_flat(unit, option)) return;
    layouts.erase(Layout::plain);
    layouts.for_each([&](Layout layout) {
      if (fits(layout, first_shape(unit))) visit(LayoutPick{option, layout});
    });
  }

  LayoutPick pick(std::size_t unit) const { return picks_[unit]; }
  void set_pick(std::size_t unit, LayoutPick pick);

  std::size_t value_count() const { return values_.size(); }
  LayoutValue& value(std::int32_t at) { return values_[as_index(at)]; }
  const LayoutValue& value(std::int32_t at) const { return values_[as_index(at)]; }
  std::int32_t value_of(std::int32_t buffer) const { return index_[as_index(buffer)]; }
  /// The units that use a value, in their order.
  std::span<const std::int32_t> users(std::int32_t value) const {
    std::size_t begin = first_user_[as_index(value)];
    return {users_.data() + begin, first_user_[as_index(value) + 1] - begin};
  }

  /// How the value lies by picks: its own, or others.
  static std::optional<Layout> layout(const LayoutValue& value, const PickedLayouts& picked);
  static std::optional<Layout> layout(const LayoutValue& value) {
    return layout(value, value.picked);
  }
  /// That, and how its readers want it.
  static LayoutSet layouts_around(const LayoutValue& value);
  /// All reorders that readers of the value need; infinite where writers disagree.
  double value_cost(const LayoutValue& value, const PickedLayouts& picked) const;
  double reorder_cost(const LayoutValue& value, LayoutSet wanted, Layout lies) const;
  /// The time of these units and of the reorders of these values.
  double cost(std::span<const std::int32_t> units, std::span<const std::int32_t> values) const;

 private:
  /// By layouts from and to; negative: not asked yet.
  using ReorderTimes = std::array<double, kLayoutCount * kLayoutCount>;

  const Shape& first_shape(std::size_t unit) const {
    return graph_.buffers[as_index(graph_.units[unit].uses[0].buffer)].spec.shape;
  }
  void join_buffers();
  void fix();
  void note_uses();
  void note_options(const Unit& unit);
  void add_option(std::size_t first, const Option& option);
  void find_possible();
  LayoutSet offered(std::size_t unit, std::size_t operand) const;
  void count(std::size_t unit, std::int16_t by);
  double reorder(const LayoutValue& value, Layout from, Layout to) const;

  const UnitGraph& graph_;
  const KernelTable& table_;
  const Machine& machine_;
  std::vector<std::int32_t> index_;  // by buffer, into values_
  std::vector<LayoutValue> values_;  // by buffer; those that lie as another one stay empty
  std::vector<std::size_t> first_use_, first_option_;  // by unit
  std::vector<std::size_t> first_user_;                // by value
  std::vector<Use> uses_;
  std::vector<Option> options_;
  std::vector<std::int32_t> users_;
  std::vector<LayoutPick> picks_;
  mutable std::vector<ReorderTimes> reorders_;
};

/// The candidate with the least time, or the first where times are missing. The row is not empty.
const Candidate& quickest(const std::vector<Candidate>& row);

/// The least measured time of the reorder, or an estimate where the table has no such row.
SimTime reorder_time(const KernelTable& table, const DeviceSpec& device, const TensorSpec& spec,
                     Reorder layouts);

}  // namespace troika
