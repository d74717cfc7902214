#include "lower/distribution.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace troika {
namespace {

class Distributor {
 public:
  Distributor(const LowerRequest& request, PlanTables& tables)
      : request_(request), tables_(tables), graph_(*request.graph) {
    made_.micro_batches = request.strategy->micro_batches;
    std::map<std::string, std::int32_t> numbers;
    for (const DeviceSpec& device : request.machine->devices)
      device_kinds_.push_back(
          numbers.try_emplace(device.kind, static_cast<std::int32_t>(numbers.size()))
              .first->second);
  }

  Distribution run() {
    std::vector<bool> staged;
    for (std::size_t op = 0; op < graph_.operators.size(); ++op) {
      const Operator& own = graph_.operators[op];
      made_.operators.push_back(tables_.tiles.tiles_of(
          {own.op, signature(op), split_of(*request_.strategy, own.name)}, made_.micro_batches));
      staged.push_back(made_.operators.back().staged);
    }
    made_.outline = make_outline(
        {tables_.index, request_.optimizer != nullptr, request_.outputs, std::move(staged)});
    for (const Job& job : made_.outline.jobs) made_.jobs.push_back(tiles_of(job));
    number_roles();
    made_.values.resize(made_.outline.values.size());
    // Where a parameter is stored decides where its gradient is needed.
    for (std::size_t at = 0; at < made_.values.size(); ++at)
      if (made_.outline.values[at].kind != ValueKind::parameter_gradient) distribute_value(at);
    for (std::size_t at = 0; at < made_.values.size(); ++at)
      if (made_.outline.values[at].kind == ValueKind::parameter_gradient) distribute_value(at);
    find_kinds();
    return std::move(made_);
  }

 private:
  void number_roles() {
    for (const OutlinedValue& value : made_.outline.values) {
      for (const std::vector<ValueUse>* uses : {&value.writers, &value.readers})
        for (std::size_t at = 0; at < uses->size(); ++at)
          made_.jobs[as_index((*uses)[at].job)].roles[as_index((*uses)[at].use)] =
              static_cast<std::int32_t>(at);
    }
  }

  /// Tiles are of one kind if all phases on their set see them as such, and their devices are.
  void find_kinds() {
    std::unordered_map<TileSetId, std::vector<KindsId>> all;
    for (std::size_t at = 0; at < made_.jobs.size(); ++at) {
      const OperatorTiles& tiles = made_.operators[as_index(made_.outline.jobs[at].op)];
      TileSetId set = made_.jobs[at].set;
      add_kinds(all[set], tables_.tiles.kinds_of(set, tiles));
    }
    for (const DistributedValue& value : made_.values) {
      if (!value.stored.shared) continue;
      add_kinds(all[value.stored.set],
                tables_.tiles.kinds_of_extents(value.stored.set, value.stored.cuts));
    }
    for (auto& [set, kinds] : all) {
      add_kinds(kinds, tables_.tiles.kinds_of_devices(set, device_kinds_));
      KindsOfSet& made = made_.kinds[set];
      made.kinds = tables_.tiles.joined_kinds(kinds);
      made.first = tables_.tiles.first_of_kinds(set, made.kinds);
    }
  }

  static void add_kinds(std::vector<KindsId>& all, KindsId kinds) {
    if (kinds != 0 && std::ranges::find(all, kinds) == all.end()) all.push_back(kinds);
  }

  const Signature& signature(std::size_t op) const { return tables_.index.signatures[op]; }
  const Signature& signature(const Job& job) const { return signature(as_index(job.op)); }

  JobTiles tiles_of(const Job& job) {
    const Signature& s = signature(job);
    const OperatorTiles& tiles = made_.operators[as_index(job.op)];
    std::vector<bool> runs_along = axes_of(s, *job.phase);
    JobTiles made{.set = tables_.tiles.tiles_of_phase(tiles, runs_along)};
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

  void distribute_value(std::size_t at) {
    const OutlinedValue& value = made_.outline.values[at];
    DistributedValue& made = made_.values[at];
    made.spec = spec_of(value);
    SpreadRequest request{.shape = made.spec.shape,
                          .fixed_order = request_.strategy->sync.fixed_order};
    for (const ValueUse& reader : value.readers) request.readers.push_back(participant(reader));
    add_other_readers(at, made, request);
    add_writers(at, made, request);
    if (!request.writers.empty()) made.spread = tables_.spreads.find(request);
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
    request.merge_each = over_batch && made_.micro_batches > 1;
    for (std::int64_t part = 0; part < (over_batch ? made_.micro_batches : 1); ++part)
      for (const ValueUse& writer : value.writers) request.writers.push_back(participant(writer));
    // What different phases write may lie differently, and slices must lie plain, so messages add
    // up copies.
    bool copied = value.writers.size() > 1 || (over_batch && request_.strategy->sync.sliced_update);
    for (Participant& writer : request.writers) writer.shared = writer.shared || copied;
  }

  Participant stored_places(std::size_t at, const SpreadRequest& request) {
    const Parameter& parameter = graph_.parameters[as_index(made_.outline.values[at].of)];
    std::vector<std::int32_t> devices;
    std::vector<Region> regions;
    for (const StoredSlice& slice : request_.storage) {
      if (slice.of != parameter.name) continue;
      devices.push_back(slice.device.value);
      regions.push_back(slice.region);
    }
    if (devices.empty()) {
      std::vector<Participant> users;
      for (const OperatorSlot& used : made_.outline.values[at].slots) users.push_back(user(used));
      return tables_.spreads.places_for(users, request.shape, SpreadTable::Places::largest);
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
    if (value.kind == ValueKind::parameter_gradient && is_updated(request_, made_.outline, of)) {
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
  std::vector<std::int32_t> device_kinds_;  // by device
  Distribution made_;
};

}  // namespace

bool is_updated(const LowerRequest& request, const Outline& outline, std::size_t parameter) {
  const Parameter& own = request.graph->parameters[parameter];
  return request.optimizer != nullptr && own.trained &&
         request.optimizer->rules.contains(own.name) && outline.parameter_gradients[parameter] >= 0;
}

Distribution distribute(const LowerRequest& request, PlanTables& tables) {
  return Distributor(request, tables).run();
}

}  // namespace troika
