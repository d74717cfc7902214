#include "lower/distribution.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "strategy/cut_strategy.h"

namespace troika {
namespace {

/// Terms of one gradient on a device that wait to be added up all at once.
constexpr std::size_t kMostSeparateTerms = 2;

void sort_unique(std::vector<std::int32_t>& numbers) {
  std::ranges::sort(numbers);
  auto [first, last] = std::ranges::unique(numbers);
  numbers.erase(first, last);
}

/// Does for some operators what a distribution from scratch does for all.
class Distributor {
 public:
  Distributor(const LowerRequest& request, PlanTables& tables, Distribution& made)
      : request_(request), tables_(tables), graph_(*request.graph), made_(made) {}

  Touched change(std::span<const std::int32_t> operators) {
    for (std::int32_t op : operators) change_operator(as_index(op));
    sort_unique(stale_);
    // Where a parameter is stored decides where its gradient is needed.
    for (std::int32_t at : std::vector(stale_))
      if (kind_of(at) != ValueKind::parameter_gradient) change_value(at);
    sort_unique(stale_);
    for (std::int32_t at : stale_)
      if (kind_of(at) == ValueKind::parameter_gradient) change_value(at);
    sort_unique(counted_sets_);
    for (TileSetId set : counted_sets_)
      if (join_kinds(set)) other_kinds_.push_back(set);
    find_users();
    return std::move(touched_);
  }

 private:
  ValueKind kind_of(std::int32_t value) const { return made_.outline.values[as_index(value)].kind; }

  void change_operator(std::size_t op) {
    const Operator& own = graph_.operators[op];
    OperatorTiles tiles = tables_.tiles.tiles_of(
        {own.op, signature(op), split_of(*request_.strategy, own.name)}, made_.micro_batches);
    if (tiles == made_.operators[op]) return;
    made_.operators[op] = std::move(tiles);
    const std::vector<std::int32_t>& jobs = made_.outline.jobs_of[op];
    // Other phases use values in other roles.
    if (made_.operators[op].staged != made_.outline.staged[op]) {
      set_staged(made_.outline, op, made_.operators[op].staged);
      for (std::int32_t job : jobs)
        std::ranges::copy_if(made_.outline.jobs[as_index(job)].values,
                             std::back_inserter(touched_.values),
                             [](std::int32_t value) { return value >= 0; });
    }
    for (std::int32_t job : jobs) change_job(as_index(job));
    for (ParameterId parameter : own.parameters)
      if (std::int32_t value = made_.outline.parameters[parameter.index()]; value >= 0)
        stale_.push_back(value);
  }

  void change_job(std::size_t at) {
    const Job& job = made_.outline.jobs[at];
    JobTiles& own = made_.jobs[at];
    count_kinds(own.set, own.kinds, -1);
    own = made_.outline.runs(job) ? tiles_of(job) : JobTiles{};
    count_kinds(own.set, own.kinds, 1);
    touched_.jobs.push_back(static_cast<std::int32_t>(at));
    for (std::int32_t value : job.values)
      if (value >= 0) stale_.push_back(value);
  }

  void change_value(std::int32_t at) {
    DistributedValue& own = made_.values[as_index(at)];
    number_roles(made_.outline.values[as_index(at)]);
    DistributedValue made = distribute_value(as_index(at));
    if (made == own) return;
    touched_.values.push_back(at);
    if (made.stored != own.stored) {
      count_kinds(own.stored.set, kinds_of_stored(own), -1);
      count_kinds(made.stored.set, kinds_of_stored(made), 1);
      auto of = as_index(made_.outline.values[as_index(at)].of);
      std::int32_t gradient =
          kind_of(at) == ValueKind::parameter ? made_.outline.parameter_gradients[of] : -1;
      if (gradient >= 0) stale_.push_back(gradient);
    }
    own = std::move(made);
  }

  void number_roles(const OutlinedValue& value) {
    for (const std::vector<ValueUse>* uses : {&value.writers, &value.readers})
      for (std::size_t at = 0; at < uses->size(); ++at)
        made_.jobs[as_index((*uses)[at].job)].roles[as_index((*uses)[at].use)] =
            static_cast<std::int32_t>(at);
  }

  KindsId kinds_of_stored(const DistributedValue& value) {
    return tables_.tiles.kinds_of_extents(value.stored.set, value.stored.cuts);
  }

  void count_kinds(TileSetId set, KindsId kinds, std::int32_t users) {
    if (set == 0) return;
    std::map<KindsId, std::int32_t>& seen = made_.kinds[set].seen;
    auto own = seen.try_emplace(kinds, 0).first;
    own->second += users;
    if (own->second == 0) seen.erase(own);
    counted_sets_.push_back(set);
  }

  /// Tiles are of one kind if all phases on their set see them as such, and their devices are.
  /// Returns whether that has changed.
  bool join_kinds(TileSetId set) {
    KindsOfSet& own = made_.kinds[set];
    if (own.seen.empty()) {
      made_.kinds.erase(set);
      return false;  // nobody is left
    }
    std::vector<KindsId> all;
    for (const auto& [kinds, users] : own.seen)
      if (kinds != 0) all.push_back(kinds);
    if (device_kinds_.empty()) device_kinds_ = number_kinds(*request_.machine);
    KindsId devices = tables_.tiles.kinds_of_devices(set, device_kinds_);
    if (devices != 0 && !own.seen.contains(devices)) all.push_back(devices);
    KindsId joined = tables_.tiles.joined_kinds(all);
    if (made_.joined_kinds.size() <= as_index(set)) made_.joined_kinds.resize(as_index(set) + 1);
    KindsId& known = made_.joined_kinds[as_index(set)];
    if (joined == known && !own.first.empty()) return false;
    known = joined;
    own.first = tables_.tiles.first_of_kinds(set, joined);
    return true;
  }

  /// Adds everything that uses what has changed.
  void find_users() {
    auto is_other = [&](TileSetId set) { return std::ranges::binary_search(other_kinds_, set); };
    for (std::size_t at = 0; !other_kinds_.empty() && at < made_.jobs.size(); ++at)
      if (is_other(made_.jobs[at].set)) touch_with_written(at);
    for (std::size_t at = 0; !other_kinds_.empty() && at < made_.values.size(); ++at)
      if (is_other(made_.values[at].stored.set))
        touched_.values.push_back(static_cast<std::int32_t>(at));
    add_users(made_.outline, touched_);
  }

  /// Readers, in other regions too, tell the values apart that tiles of several kinds write.
  void touch_with_written(std::size_t at) {
    const Job& job = made_.outline.jobs[at];
    touched_.jobs.push_back(static_cast<std::int32_t>(at));
    for (std::size_t use = 0; use < job.values.size(); ++use)
      if (job.values[use] >= 0 && job.phase->uses[use].access != Access::read)
        touched_.values.push_back(job.values[use]);
  }

  const Signature& signature(std::size_t op) const { return tables_.index.signatures[op]; }
  const Signature& signature(const Job& job) const { return signature(as_index(job.op)); }

  JobTiles tiles_of(const Job& job) {
    const Signature& s = signature(job);
    const OperatorTiles& tiles = made_.operators[as_index(job.op)];
    std::vector<bool> runs_along = axes_of(s, *job.phase);
    JobTiles made{.set = tables_.tiles.tiles_of_phase(tiles, runs_along)};
    made.kinds = tables_.tiles.kinds_of(made.set, tiles);
    made.roles.assign(job.values.size(), -1);
    for (std::size_t use = 0; use < job.values.size(); ++use) {
      Participant& own = made.uses.emplace_back(Participant{.set = made.set});
      if (job.values[use] < 0) continue;
      const Use& used = job.phase->uses[use];
      const Slot& slot = s.slots[as_index(used.slot)];
      own.cuts = tables_.tiles.cuts_of(slot, tiles);
      own.shared = job.phase->view;
      if (used.access != Access::read)
        own.partial_axes = partial_axes(own, tiles, runs_along, slot);
    }
    return made;
  }

  /// Axes along which tiles write sums of the same elements: the tensor lacks the axis, or what
  /// neighbours write overlaps.
  std::vector<AxisDigit> partial_axes(const Participant& writer, const OperatorTiles& tiles,
                                      const std::vector<bool>& runs_along, const Slot& slot) const {
    std::vector<AxisDigit> partial;
    for (std::size_t axis = 0; axis < runs_along.size(); ++axis) {
      if (!runs_along[axis] || tiles.digits[axis].count == 1) continue;
      bool is_there = false, overlaps = false;
      for (std::size_t dim = 0; dim < slot.dims.size(); ++dim) {
        if (slot.dims[dim].axis != static_cast<int>(axis)) continue;
        is_there = true;
        overlaps = overlaps || tables_.tiles.overlap(writer.cuts[dim].ranges);
      }
      if (!is_there || overlaps) partial.push_back(tiles.digits[axis]);
    }
    return partial;
  }

  const Participant& participant(const ValueUse& use) const {
    return made_.jobs[as_index(use.job)].uses[as_index(use.use)];
  }

  const Slot& slot_of(const ValueUse& use) const {
    const Job& job = made_.outline.jobs[as_index(use.job)];
    int slot = job.phase->uses[as_index(use.use)].slot;
    return signature(job).slots[as_index(slot)];
  }

  /// With the samples of a micro-batch.
  TensorSpec spec_of(const OutlinedValue& value) const {
    if (value.kind == ValueKind::parameter || value.kind == ValueKind::parameter_gradient)
      return graph_.parameters[as_index(value.of)].spec;
    const ValueUse& any = value.writers.empty() ? value.readers.at(0) : value.writers[0];
    const Job& job = made_.outline.jobs[as_index(any.job)];
    const Slot& slot = slot_of(any);
    TensorSpec spec = slot.spec;
    int samples = made_.operators[as_index(job.op)].sample_axis;
    for (std::size_t dim = 0; dim < slot.dims.size(); ++dim)
      if (samples >= 0 && slot.dims[dim].axis == samples) spec.shape[dim] /= made_.micro_batches;
    return spec;
  }

  DistributedValue distribute_value(std::size_t at) {
    const OutlinedValue& value = made_.outline.values[at];
    DistributedValue made;
    if (value.writers.empty() && value.readers.empty() && value.slots.empty()) return made;
    made.spec = spec_of(value);
    SpreadRequest request{.shape = made.spec.shape,
                          .fixed_order = request_.strategy->sync.fixed_order};
    for (const ValueUse& reader : value.readers) request.readers.push_back(participant(reader));
    add_other_readers(at, made, request);
    add_writers(at, made, request);
    if (!request.writers.empty()) made.spread = tables_.spreads.find(request);
    return made;
  }

  void add_writers(std::size_t at, DistributedValue& made, SpreadRequest& request) {
    const OutlinedValue& value = made_.outline.values[at];
    if (value.kind == ValueKind::parameter) {
      made.stored = stored_places(at, request);
      made.groups = &tables_.spreads.groups_of(made.stored);
      request.writers.push_back(made.stored);
      return;
    }
    if (value.kind == ValueKind::tensor && value.writers.empty()) {
      made.stored = tables_.spreads.places_for(request.readers, request.shape,
                                               SpreadTable::Places::all_different);
      request.writers.push_back(made.stored);
      return;
    }
    if (value.writers.empty()) return;  // a gradient that nobody contributes to
    request.greatest = slot_of(value.writers[0]).combine == Combine::max;
    bool over_batch = value.kind == ValueKind::parameter_gradient;
    // Else all terms of a weight that many chunks of a layer share would be there at once.
    bool has_many_terms = made_.micro_batches > 1 || value.writers.size() > kMostSeparateTerms;
    request.merge_each = over_batch && has_many_terms;
    for (std::int64_t part = 0; part < (over_batch ? made_.micro_batches : 1); ++part)
      for (const ValueUse& writer : value.writers) request.writers.push_back(participant(writer));
    // What different phases write may lie differently, and slices must lie plain, so messages add
    // up copies.
    bool copied = value.writers.size() > 1 || (over_batch && request_.strategy->sync.sliced_update);
    for (Participant& writer : request.writers) writer.shared = writer.shared || copied;
  }

  Participant stored_places(std::size_t at, const SpreadRequest& request) {
    const Parameter& parameter = graph_.parameters[as_index(made_.outline.values[at].of)];
    const StateEntry* tensor = find_entry(request_.storage, parameter.name);
    if (tensor == nullptr) {
      std::vector<Participant> users;
      for (const OperatorSlot& used : made_.outline.values[at].slots) users.push_back(user(used));
      return tables_.spreads.places_for(users, request.shape, SpreadTable::Places::largest);
    }
    std::vector<std::int32_t> devices;
    std::vector<Region> regions;
    for (const StoredPlace& place : *tensor->places) {
      devices.push_back(place.device.value);
      regions.push_back(place.region);
    }
    Participant stored = tables_.spreads.listed(devices, regions, request.shape);
    stored.shared = true;
    return stored;
  }

  /// What the tiles of an operator need of a parameter, once per device.
  Participant user(const OperatorSlot& used) {
    auto op = as_index(used.op);
    const Slot& slot = signature(op).slots[as_index(used.slot)];
    std::vector<bool> has_axis(signature(op).axes.size());
    for (const DimMap& map : slot.dims)
      if (map.axis != DimMap::kNoAxis) has_axis[as_index(map.axis)] = true;
    const OperatorTiles& tiles = made_.operators[op];
    return {.set = tables_.tiles.tiles_of_phase(tiles, has_axis),
            .cuts = tables_.tiles.cuts_of(slot, tiles)};
  }

  /// The update, and the host.
  void add_other_readers(std::size_t at, DistributedValue& made, SpreadRequest& request) {
    const OutlinedValue& value = made_.outline.values[at];
    auto of = as_index(value.of);
    if (value.kind == ValueKind::parameter_gradient && made_.outline.updated[of]) {
      made.updates = static_cast<int>(request.readers.size());
      std::int32_t stored = made_.outline.parameters[of];
      request.readers.push_back(made_.values[as_index(stored)].stored);
    }
    if (value.kind == ValueKind::tensor && is_held(TensorId(of)) && !is_total(made.spec)) {
      made.held = static_cast<int>(request.readers.size());
      request.readers.push_back(
          tables_.spreads.listed({0}, {Region::whole(request.shape)}, request.shape));
    }
  }

  bool is_held(TensorId tensor) const {
    if (request_.optimizer != nullptr) return false;
    return std::ranges::any_of(graph_.outputs, [&](const NamedTensor& output) {
      return output.tensor == tensor && std::ranges::count(request_.outputs, output.name) > 0;
    });
  }

  const LowerRequest& request_;
  PlanTables& tables_;
  const Graph& graph_;
  Distribution& made_;
  std::vector<std::int32_t> device_kinds_;  // by device; empty: not asked for yet
  std::vector<std::int32_t> stale_;         // values that something they depend on has changed for
  std::vector<TileSetId> counted_sets_;     // with other users than before
  std::vector<TileSetId> other_kinds_;      // whose kinds have changed
  Touched touched_;
};

}  // namespace

Distribution distribute(const LowerRequest& request, PlanTables& tables) {
  TROIKA_CHECK(layer_cuts(*request.strategy, *request.graph).chunks.empty(),
               "layers must be cut before a program is distributed");
  Distribution made{
      .outline = make_outline({tables.index, request.optimizer, request.outputs}),
      .micro_batches = request.strategy->micro_batches,
      .kinds = {{0, {}}},
      .joined_kinds = {0},
  };
  made.operators.resize(request.graph->operators.size());
  made.jobs.resize(made.outline.jobs.size());
  made.values.resize(made.outline.values.size());
  std::vector<std::int32_t> all(made.operators.size());
  std::iota(all.begin(), all.end(), 0);
  change(made, {request, all}, tables);
  return made;
}

Touched change(Distribution& distribution, const ChangedSplits& changed, PlanTables& tables) {
  return Distributor(changed.request, tables, distribution).change(changed.operators);
}

void sort_all(Touched& touched) {
  for (std::vector<std::int32_t>* list : {&touched.jobs, &touched.values, &touched.updates})
    sort_unique(*list);
}

void add_users(const Outline& outline, Touched& touched) {
  sort_unique(touched.values);
  std::vector<bool> known(outline.values.size());
  for (std::int32_t value : touched.values) known[as_index(value)] = true;
  auto note_views = [&](const Job& job) {
    // A view lies as what it views does.
    for (std::size_t use = 0; job.phase->view && use < job.values.size(); ++use) {
      std::int32_t value = job.values[use];
      if (job.phase->uses[use].access == Access::read || known[as_index(value)]) continue;
      known[as_index(value)] = true;
      touched.values.push_back(value);
    }
  };
  for (std::int32_t job : touched.jobs) note_views(outline.jobs[as_index(job)]);
  for (std::size_t at = 0; at < touched.values.size(); ++at) {
    for (const ValueUse& use : outline.values[as_index(touched.values[at])].uses) {
      touched.jobs.push_back(use.job);
      note_views(outline.jobs[as_index(use.job)]);
    }
  }
  sort_unique(touched.values);
  sort_unique(touched.jobs);
}

}  // namespace troika
