#include "lower/layout_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

/// Without a measured time, each later candidate of a row counts as this much slower than the one
/// before.
constexpr double kRankPenalty = 1.25;

}  // namespace

LayoutModel::LayoutModel(const UnitGraph& graph, const Machine& machine, const KernelTable& table)
    : graph_(graph),
      table_(table),
      machine_(machine),
      index_(graph.buffers.size()),
      values_(graph.buffers.size()),
      picks_(graph.units.size()) {
  join_buffers();
  fix();
  note_uses();
  for (const Unit& unit : graph.units) note_options(unit);
  first_option_.push_back(options_.size());
  find_possible();
}

/// A view of the same shape lies as what it views. Messages carry buffers as they lie, so those
/// that are added up must lie alike.
void LayoutModel::join_buffers() {
  std::iota(index_.begin(), index_.end(), 0);
  auto first_of = [&](std::int32_t at) {
    while (index_[as_index(at)] != at)
      at = index_[as_index(at)] = index_[as_index(index_[as_index(at)])];
    return at;
  };
  for (std::size_t at = 0; at < index_.size(); ++at) {
    const UnitBuffer& buffer = graph_.buffers[at];
    bool alike = buffer.view_of >= 0 &&
                 graph_.buffers[as_index(buffer.view_of)].spec.shape == buffer.spec.shape;
    if (alike) index_[at] = first_of(buffer.view_of);
  }
  for (const std::vector<std::int32_t>& tied : graph_.tied)
    for (std::int32_t buffer : tied) index_[as_index(first_of(buffer))] = first_of(tied[0]);
  for (std::int32_t& index : index_) index = first_of(index);
}

void LayoutModel::fix() {
  auto fix_value = [&](std::size_t buffer, Layout layout) {
    LayoutValue& value = values_[as_index(index_[buffer])];
    TROIKA_CHECK(value.fixed.value_or(layout) == layout, "a value that must lie in two ways");
    value.fixed = layout;
  };
  for (std::size_t at = 0; at < graph_.buffers.size(); ++at) {
    const UnitBuffer& buffer = graph_.buffers[at];
    LayoutValue& value = values_[as_index(index_[at])];
    value.buffer = index_[at];
    value.asked.insert(buffer.asked);
    if (buffer.fixed) fix_value(at, *buffer.fixed);
    if (buffer.view_of < 0 || value_of(buffer.view_of) == index_[at]) continue;
    fix_value(at, Layout::plain);
    this->value(value_of(buffer.view_of)).asked.insert(Layout::plain);
  }
}

void LayoutModel::note_uses() {
  first_user_.assign(values_.size() + 1, 0);
  for (std::size_t at = 0; at < graph_.units.size(); ++at) {
    first_use_.push_back(uses_.size());
    const Shape& first = first_shape(at);
    for (const UnitUse& use : graph_.units[at].uses) {
      LayoutValue& value = this->value(value_of(use.buffer));
      bool reads = use.access == Access::read;
      if (!reads) value.has_writers = true;
      value.device = graph_.units[at].device;
      ++first_user_[as_index(value_of(use.buffer)) + 1];
      uses_.push_back(
          {value_of(use.buffer), reads, graph_.buffers[as_index(use.buffer)].spec.shape == first});
    }
  }
  first_use_.push_back(uses_.size());
  for (std::size_t at = 1; at < first_user_.size(); ++at) first_user_[at] += first_user_[at - 1];
  users_.resize(first_user_.back());
  std::vector<std::size_t> next = first_user_;
  for (std::size_t at = 0; at < graph_.units.size(); ++at)
    for (const Use& use : uses(at))
      users_[next[as_index(use.value)]++] = static_cast<std::int32_t>(at);
}

void LayoutModel::note_options(const Unit& unit) {
  std::size_t first = options_.size();
  first_option_.push_back(first);
  if (unit.row == nullptr) return;
  auto is_measured = [](const Candidate& candidate) { return candidate.time.has_value(); };
  SimTime by_rule{};
  if (!std::ranges::all_of(*unit.row, is_measured))
    by_rule = roofline_time(machine_[unit.device], flops_of(unit.key), bytes_of(unit.key));
  for (const Candidate& candidate : *unit.row) {
    add_option(first, {&candidate, candidate.time.value_or(by_rule)});
    by_rule.count =
        static_cast<std::int64_t>(static_cast<double>(by_rule.count) * kRankPenalty) + 1;
  }
}

void LayoutModel::add_option(std::size_t first, const Option& option) {
  for (std::size_t at = first; at < options_.size(); ++at) {
    const Candidate& known = *options_[at].candidate;
    if (known.flat != option.candidate->flat || known.layouts != option.candidate->layouts)
      continue;
    if (option.time < options_[at].time) options_[at] = option;
    return;
  }
  options_.push_back(option);
}

/// A unit that decides first must not leave a value as another writer of it cannot. A unit that
/// writes several such values has fewer options for one of them as others lose layouts, so this
/// repeats until nothing is lost (arc consistency, Mackworth 1977,
/// doi:10.1016/0004-3702(77)90007-8).
void LayoutModel::find_possible() {
  bool lost = true;
  auto restrict_value = [&](std::int32_t at) {
    LayoutSet before = value(at).possible;
    for (std::int32_t unit : users(at)) {
      std::span<const Use> uses = this->uses(as_index(unit));
      for (std::size_t use = 0; use < uses.size(); ++use)
        if (uses[use].value == at && !uses[use].reads)
          value(at).possible.intersect(offered(as_index(unit), use));
    }
    lost = lost || value(at).possible != before;
  };
  while (std::exchange(lost, false))
    for (const std::vector<std::int32_t>& tied : graph_.tied) restrict_value(value_of(tied[0]));
}

/// By options that leave everything else that the unit writes as it may lie.
LayoutSet LayoutModel::offered(std::size_t unit, std::size_t operand) const {
  LayoutSet layouts;
  std::span<const Use> uses = this->uses(unit);
  for (const Option& option : options(unit)) {
    bool may_be = true;
    LayoutSet flat = LayoutSet::all();
    for (std::size_t at = 0; at < uses.size(); ++at) {
      if (uses[at].reads) continue;
      const LayoutValue& written = value(uses[at].value);
      LayoutSet possible = written.fixed ? LayoutSet(*written.fixed) : written.possible;
      bool as_it_is = possible.contains(option.candidate->layouts[at]);
      may_be = may_be && as_it_is;
      if (uses[at].is_alike)
        flat.intersect(possible);
      else if (!as_it_is)
        flat = {};
    }
    if (may_be) layouts.insert(option.candidate->layouts[operand]);
    if (option.candidate->flat && uses[operand].is_alike) layouts.insert(flat);
  }
  return layouts;
}

std::optional<Layout> LayoutModel::layout(const LayoutValue& value, const PickedLayouts& picked) {
  if (value.fixed) return value.fixed;
  return picked.written.empty() ? value.stored : std::optional(picked.written.first());
}

void LayoutModel::set_pick(std::size_t unit, LayoutPick pick) {
  if (picks_[unit] == pick) return;
  count(unit, -1);
  picks_[unit] = pick;
  count(unit, +1);
}

void LayoutModel::count(std::size_t unit, std::int16_t by) {
  LayoutPick pick = picks_[unit];
  if (pick.option < 0) return;
  std::span<const Use> uses = this->uses(unit);
  for (std::size_t at = 0; at < uses.size(); ++at) {
    LayoutValue& value = this->value(uses[at].value);
    Layout layout = this->layout(unit, pick, at);
    auto& users =
        (uses[at].reads ? value.wanted_by : value.written_by)[static_cast<std::size_t>(layout)];
    users = static_cast<std::int16_t>(users + by);
    LayoutSet& layouts = uses[at].reads ? value.picked.wanted : value.picked.written;
    if (users > 0)
      layouts.insert(layout);
    else
      layouts.erase(layout);
  }
}

LayoutSet LayoutModel::layouts_around(const LayoutValue& value) {
  LayoutSet layouts = value.picked.wanted;
  if (auto lies = layout(value)) layouts.insert(*lies);
  return layouts;
}

double LayoutModel::reorder(const LayoutValue& value, Layout from, Layout to) const {
  if (value.reorders < 0) {
    value.reorders = static_cast<std::int32_t>(reorders_.size());
    reorders_.emplace_back().fill(-1);
  }
  double& known =
      reorders_[as_index(value.reorders)]
               [static_cast<std::size_t>(from) * kLayoutCount + static_cast<std::size_t>(to)];
  if (known >= 0) return known;
  const TensorSpec& spec = graph_.buffers[as_index(value.buffer)].spec;
  SimTime time = reorder_time(table_, machine_[value.device], spec, {from, to});
  return known = static_cast<double>(time.count);
}

double LayoutModel::value_cost(const LayoutValue& value, const PickedLayouts& picked) const {
  std::optional<Layout> lies = layout(value, picked);
  if (!lies) return 0;
  LayoutSet others = picked.written;
  others.erase(*lies);
  return others.empty() && value.possible.contains(*lies)
             ? reorder_cost(value, picked.wanted, *lies)
             : kNever;
}

double LayoutModel::reorder_cost(const LayoutValue& value, LayoutSet wanted, Layout lies) const {
  wanted.insert(value.asked);
  wanted.erase(lies);
  double cost = 0;
  wanted.for_each([&](Layout other) { cost += reorder(value, lies, other); });
  return cost;
}

double LayoutModel::cost(std::span<const std::int32_t> units,
                         std::span<const std::int32_t> values) const {
  double sum = 0;
  for (std::int32_t unit : units) {
    LayoutPick pick = picks_[as_index(unit)];
    if (pick.option >= 0)
      sum += static_cast<double>(option(as_index(unit), pick.option).time.count);
  }
  for (std::int32_t at : values) sum += value_cost(value(at), value(at).picked);
  return sum;
}

const Candidate& quickest(const std::vector<Candidate>& row) {
  return *std::ranges::min_element(row, [](const Candidate& a, const Candidate& b) {
    return a.time && b.time && *a.time < *b.time;
  });
}

SimTime reorder_time(const KernelTable& table, const DeviceSpec& device, const TensorSpec& spec,
                     Reorder layouts) {
  KernelKey key{layouts, {spec}, Phase::forward, {}};
  const std::vector<Candidate>* row = table.find(device.kind, key);
  if (row != nullptr && !row->empty() && quickest(*row).time) return *quickest(*row).time;
  return roofline_time(device, {}, spec.bytes() * 2);
}

}  // namespace troika
