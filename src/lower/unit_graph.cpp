#include "lower/unit_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/names.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

class UnitGraphBuilder {
 public:
  explicit UnitGraphBuilder(const UnitRequest& request)
      : request_(request),
        distribution_(request.distribution),
        outline_(request.distribution.outline),
        written_(outline_.values.size()),
        sums_(outline_.values.size()) {
    made_.stored.resize(outline_.values.size());
    made_.operands.resize(outline_.jobs.size());
    scalars_ = add_buffer({.name = kScalarsName,
                           .spec = {{kScalarCount}, DType::f64},
                           .category = Category::workspace,
                           .persistent = true});
    control_ = add_buffer({.name = kControlName,
                           .spec = {{kControlCount}, DType::f64},
                           .category = Category::workspace,
                           .persistent = true});
  }

  UnitGraph build() {
    made_.graph.name = request_.request.name;
    made_.graph.arena.resize(1);
    for (std::size_t at = 0; at < outline_.values.size(); ++at) add_stored(at);
    for (std::size_t job = 0; job < outline_.jobs.size(); ++job) add_job(job);
    for (std::size_t at = 0; at < request_.updates.size(); ++at) add_update(at);
    for (std::size_t at = 0; at < outline_.values.size(); ++at) settle_moved(at);
    hold_totals();
    return std::move(made_);
  }

 private:
  const DistributedValue& value(std::size_t at) const { return distribution_.values[at]; }

  BufferId add_buffer(BufferSpec spec) {
    made_.graph.buffers.push_back(std::move(spec));
    return BufferId(made_.graph.buffers.size() - 1);
  }

  const std::vector<std::int32_t>& first_tiles(TileSetId set) const {
    return distribution_.kinds_of(set).first;
  }

  std::int32_t kind_of(TileSetId set, std::int32_t tile) const {
    return request_.tables.tiles.kind(distribution_.kinds_of(set).kinds, tile);
  }

  DeviceId device_of(TileSetId set, std::int32_t tile) const {
    return DeviceId(as_index(request_.tables.tiles.set(set).device[as_index(tile)]));
  }

  /// How many kinds of the set before this one the first is whose devices are of the same kind:
  /// those of them that have equal keys take one kernel.
  std::int32_t behind_leader(TileSetId set, std::int32_t kind) const {
    const std::vector<std::int32_t>& first = first_tiles(set);
    auto device_kind = [&](std::int32_t of) -> const std::string& {
      return (*request_.request.machine)[device_of(set, first[as_index(of)])].kind;
    };
    std::int32_t leader = 0;
    while (device_kind(leader) != device_kind(kind)) ++leader;
    return kind - leader;
  }

  Shape shape_of(const Participant& participant, std::int32_t tile, const Shape& whole) const {
    return region_of(request_.tables.tiles, participant, tile, whole).shape();
  }

  /// Parameters and inputs of the graph, as they are stored.
  void add_stored(std::size_t at) {
    const DistributedValue& own = value(at);
    if (!own.stored.shared) return;
    const OutlinedValue& outlined = outline_.values[at];
    bool parameter = outlined.kind == ValueKind::parameter;
    const Graph& graph = *request_.request.graph;
    auto of = as_index(outlined.of);
    const std::string& name = parameter ? graph.parameters[of].name : graph.tensors[of].name;
    const TileSet& set = request_.tables.tiles.set(own.stored.set);
    for (std::int32_t tile : first_tiles(own.stored.set)) {
      Region region = region_of(request_.tables.tiles, own.stored, tile, own.spec.shape);
      std::string slice = to_string(
          SliceName{name, own.spec.shape, region, set.device[as_index(tile)], has_peers()});
      made_.stored[at].push_back(
          add_buffer({.name = slice,
                      .spec = {region.shape(), own.spec.dtype},
                      .category = parameter ? Category::parameter : Category::activation,
                      .persistent = parameter}));
      bool plain = !parameter || (request_.request.strategy->sync.sliced_update && is_shared(own));
      if (plain) made_.graph.inputs[fmt::format("{} {}", slice, tile)] = made_.stored[at].back();
    }
  }

  /// Several devices store the same: where updates are sliced, parts of it travel by themselves, so
  /// it lies plain in every program.
  static bool is_shared(const DistributedValue& own) {
    return std::ranges::any_of(own.groups->copies, [](std::int32_t copies) { return copies > 1; });
  }

  bool has_peers() const { return request_.request.machine->devices.size() > 1; }

  void add_job(std::size_t at) {
    const Job& job = outline_.jobs[at];
    const JobTiles& tiles = distribution_.jobs[at];
    const std::vector<std::int32_t>& first = first_tiles(tiles.set);
    for (std::size_t kind = 0; kind < first.size(); ++kind) {
      std::vector<BufferId> uses(job.values.size());
      for (std::size_t use = 0; use < uses.size(); ++use)
        if (job.phase->uses[use].access != Access::write) uses[use] = read(at, use, first[kind]);
      for (std::size_t use = 0; use < uses.size(); ++use)
        if (job.phase->uses[use].access == Access::write)
          uses[use] = write(at, use, first[kind], uses[0]);
      made_.operands[at].push_back(uses);
      if (!job.phase->view) add_unit(at, static_cast<std::int32_t>(kind), first[kind]);
    }
  }

  void add_unit(std::size_t at, std::int32_t kind, std::int32_t tile) {
    const Job& job = outline_.jobs[at];
    Task task{.id = {static_cast<std::int32_t>(at), kind},
              .name = fmt::format("{} {}", request_.request.graph->operators[as_index(job.op)].name,
                                  to_string(job.phase->phase)),
              .device = device_of(distribution_.jobs[at].set, tile),
              .key = key_of(request_, at, tile),
              .replica = behind_leader(distribution_.jobs[at].set, kind)};
    for (std::size_t use = 0; use < job.values.size(); ++use)
      task.uses.push_back({made_.operands[at][as_index(kind)][use], job.phase->uses[use].access});
    made_.graph.tasks.push_back(std::move(task));
    made_.units.push_back({.job = static_cast<std::int32_t>(at), .kind = kind});
  }

  BufferId read(std::size_t at, std::size_t use, std::int32_t tile) {
    const Job& job = outline_.jobs[at];
    std::int32_t of = job.values[use];
    if (of < 0) {
      const Signature& s = request_.tables.index.signatures[as_index(job.op)];
      const Slot& slot = s.slots[as_index(job.phase->uses[use].slot)];
      return slot.role == Role::scalars ? scalars_ : control_;
    }
    const JobTiles& tiles = distribution_.jobs[at];
    return source(as_index(of), tiles.roles[use], tile, tiles.uses[use]);
  }

  /// What lies as the reader's tile finds it.
  BufferId source(std::size_t of, std::int32_t role, std::int32_t tile, const Participant& reader) {
    const DistributedValue& own = value(of);
    const Moves* moves = own.spread.moves;
    device_ = device_of(reader.set, tile);
    Shape shape = shape_of(reader, tile, own.spec.shape);
    if (outline_.values[of].writers.empty() && !own.stored.shared) return plain(of, shape);
    if (moves == nullptr) return writer_buffer(of, 0, tile);
    return resolved(of, moves->reads[as_index(role)][as_index(tile)], shape);
  }

  BufferId resolved(std::size_t of, std::int32_t buffer, const Shape& shape) {
    const Moves& moves = *value(of).spread.moves;
    auto at = as_index(buffer);
    const PlacedBuffer& placed = moves.buffers[at];
    if (placed.kind == PlacedBuffer::Kind::written)
      return writer_buffer(of, as_index(placed.origin), placed.tile);
    if (moves.message[at] >= 0) {
      const Message& message = moves.messages[as_index(moves.message[at])];
      if (message.kind == Collective::broadcast)
        return resolved(of, moves.members[as_index(message.first_member)].buffer, shape);
    }
    bool summed =
        moves.maker[at] >= 0 && moves.steps[as_index(moves.maker[at])].kind == Step::Kind::sum;
    return summed ? sum(of, moves.steps[as_index(moves.maker[at])], shape) : plain(of, shape);
  }

  /// What a writer's tile wrote, or what is stored.
  BufferId writer_buffer(std::size_t of, std::size_t writer, std::int32_t tile) {
    const OutlinedValue& outlined = outline_.values[of];
    if (value(of).stored.shared)
      return made_.stored[of][as_index(kind_of(value(of).stored.set, tile))];
    const ValueUse& use = outlined.writers[writer % outlined.writers.size()];
    TileSetId set = distribution_.jobs[as_index(use.job)].set;
    return written_[of].at(writer % outlined.writers.size())[as_index(kind_of(set, tile))];
  }

  /// Put together by copies, or zero.
  BufferId plain(std::size_t of, const Shape& shape) {
    BufferId id = add_buffer({.name = "plain", .spec = {shape, value(of).spec.dtype}});
    made_.graph.inputs[fmt::format("plain {}", id.value)] = id;
    return id;
  }

  /// Of contributions that lie on the same device: one unit for all boxes of one shape.
  BufferId sum(std::size_t of, const Step& step, const Shape& shape) {
    for (BufferId known : sums_[of])
      if (made_.graph[known].spec.shape == shape) return known;
    const Moves& moves = *value(of).spread.moves;
    std::vector<BufferUse> uses;
    for (std::int32_t input = 0; input < step.input_count; ++input) {
      std::int32_t buffer = moves.inputs[as_index(step.first_input + input)].buffer;
      bool summed = moves.maker[as_index(buffer)] >= 0;
      if (!summed) uses.push_back({resolved(of, buffer, shape), Access::read});
    }
    TensorSpec spec{shape, value(of).spec.dtype};
    BufferId total = add_buffer({.name = "sum", .spec = spec});
    sums_[of].push_back(total);
    if (uses.empty()) return total;
    if (uses.size() == 1) uses.push_back(uses[0]);
    KernelKey key{
        Sum{.count = std::ssize(uses)}, std::vector(uses.size(), spec), Phase::forward, {}};
    uses.push_back({total, Access::write});
    made_.graph.tasks.push_back(
        {.id = {static_cast<std::int32_t>(outline_.jobs.size()), total.value},
         .name = "sum",
         .device = device_,
         .key = std::move(key),
         .uses = std::move(uses)});
    made_.units.emplace_back();
    return total;
  }

  BufferId write(std::size_t at, std::size_t use, std::int32_t tile, BufferId viewed) {
    const Job& job = outline_.jobs[at];
    const JobTiles& tiles = distribution_.jobs[at];
    auto of = as_index(job.values[use]);
    BufferSpec spec{
        .name = "written",
        .spec = {shape_of(tiles.uses[use], tile, value(of).spec.shape), value(of).spec.dtype}};
    if (job.phase->view) spec.view_of = viewed;
    BufferId id = add_buffer(std::move(spec));
    auto role = as_index(tiles.roles[use]);
    if (written_[of].size() <= role) written_[of].resize(role + 1);
    written_[of][role].push_back(id);
    return id;
  }

  /// What is moved is read by more than one task; where boxes are taken out of it, plain.
  void settle_moved(std::size_t of) {
    const Moves* moves = value(of).spread.moves;
    if (moves == nullptr) return;
    for (std::size_t writer = 0; writer < written_[of].size(); ++writer) {
      Communication tied{.call = {.kind = Collective::all_reduce}};
      for (BufferId id : written_[of][writer]) {
        // A view keeps the value from being fused away.
        BufferSpec view = made_.graph[id];
        view.view_of = id;
        view.held = moves->assembles;
        add_buffer(std::move(view));
        tied.buffers.push_back(id);
      }
      // Tiles of several kinds add up their results, which must lie alike.
      if (!moves->reduces_written[writer] || tied.buffers.size() < 2) continue;
      tied.call.members = static_cast<int>(tied.buffers.size());
      made_.graph.communications.push_back(std::move(tied));
    }
  }

  void hold_totals() {
    auto hold = [&](TensorId tensor) {
      std::int32_t of = outline_.tensors[tensor.index()];
      if (of < 0) return;
      for (const std::vector<BufferId>& kinds : written_[as_index(of)])
        for (BufferId id : kinds) made_.graph[id].held = true;
    };
    const Graph& graph = *request_.request.graph;
    if (graph.loss && request_.request.optimizer != nullptr)
      hold(graph.loss->loss_sum), hold(graph.loss->weight_sum);
    for (const NamedTensor& output : graph.outputs)
      if (std::ranges::count(request_.request.outputs, output.name) > 0) hold(output.tensor);
  }

  void add_update(std::size_t at) {
    const UpdatePlan& update = request_.updates[at];
    const DistributedValue& weight = value(as_index(update.weight));
    const std::vector<std::int32_t>& first = first_tiles(weight.stored.set);
    for (std::size_t kind = 0; kind < first.size(); ++kind) {
      states_.clear();
      gradient_ = {};
      const std::vector<Phase>& phases = update.phases;
      for (std::size_t phase = 0; phase < phases.size(); ++phase)
        add_update_unit({.update = static_cast<std::int32_t>(at),
                         .kind = static_cast<std::int32_t>(kind),
                         .phase = static_cast<std::int32_t>(phase)},
                        phases[phase], first[kind]);
    }
  }

  void add_update_unit(const UnitOfTask& unit, Phase phase, std::int32_t place) {
    const UpdatePlan& update = request_.updates[as_index(unit.update)];
    TensorSpec spec = updated_spec(request_, update, place);
    Signature s = signature(*update.rule, std::vector{spec});
    const std::string& name = request_.request.graph->parameters[as_index(update.parameter)].name;
    Task task{.id = {static_cast<std::int32_t>(outline_.jobs.size()) + 1 + unit.update,
                     unit.kind * 2 + unit.phase},
              .name = name + (phase == Phase::statistics_1 ? " norms" : " update"),
              .device = device_of(value(as_index(update.weight)).stored.set, place),
              .key = {*update.rule, {spec}, phase, {}},
              .replica = 2 * behind_leader(value(as_index(update.weight)).stored.set, unit.kind),
              .is_update = true};
    for (const Use& use : s.at(phase).uses)
      task.uses.push_back(
          {update_operand(update, unit, s.slots[as_index(use.slot)], use, place), use.access});
    made_.graph.tasks.push_back(std::move(task));
    made_.units.push_back(unit);
  }

  BufferId update_operand(const UpdatePlan& update, const UnitOfTask& unit, const Slot& slot,
                          const Use& use, std::int32_t place) {
    if (slot.role == Role::scalars) return scalars_;
    if (slot.role == Role::control) return control_;
    if (slot.role == Role::statistic) return number(slot.spec);
    auto weight = as_index(update.weight);
    if (update.shared != nullptr && slot.role != Role::state) return flat(use, slot.spec);
    if (use.gradient) {
      if (!gradient_.valid())
        gradient_ = source(as_index(update.gradient), value(as_index(update.gradient)).updates,
                           place, value(weight).stored);
      return gradient_;
    }
    if (slot.role == Role::state) return state(update, slot, place);
    return made_.stored[weight][as_index(unit.kind)];
  }

  /// A slice of a parameter or of its gradient.
  BufferId flat(const Use& use, const TensorSpec& spec) {
    return add_buffer({.name = use.gradient ? "gradient slice" : "slice", .spec = spec});
  }

  BufferId number(const TensorSpec& spec) {
    BufferId id = add_buffer({.name = "number", .spec = spec, .category = Category::workspace});
    made_.graph.inputs[fmt::format("number {}", id.value)] = id;
    return id;
  }

  BufferId state(const UpdatePlan& update, const Slot& slot, std::int32_t place) {
    auto [known, is_new] = states_.try_emplace(slot.name);
    if (!is_new) return known->second;
    const DistributedValue& weight = value(as_index(update.weight));
    const std::string& parameter =
        request_.request.graph->parameters[as_index(update.parameter)].name;
    std::string name = parameter + "." + slot.name;
    Region region = region_of(request_.tables.tiles, weight.stored, place, weight.spec.shape);
    std::int32_t device = request_.tables.tiles.set(weight.stored.set).device[as_index(place)];
    return known->second = add_buffer(
               {.name = to_string(SliceName{name, weight.spec.shape, region, device, has_peers()}),
                .spec = slot.spec,
                .category = Category::optimizer,
                .persistent = true});
  }

  const UnitRequest& request_;
  const Distribution& distribution_;
  const Outline& outline_;
  UnitGraph made_;
  std::vector<std::vector<std::vector<BufferId>>> written_;  // by value, writer and kind
  std::vector<std::vector<BufferId>> sums_;                  // by value: of each shape
  std::map<std::string, BufferId> states_;                   // of the update in the making
  BufferId scalars_, control_, gradient_;
  DeviceId device_;  // of the reader whose operand is looked for
};

}  // namespace

TensorSpec updated_spec(const UnitRequest& request, const UpdatePlan& update, std::int32_t place) {
  const DistributedValue& weight = request.distribution.values[as_index(update.weight)];
  Region region = region_of(request.tables.tiles, weight.stored, place, weight.spec.shape);
  if (update.shared == nullptr) return {region.shape(), weight.spec.dtype};
  std::int32_t owners = update.shared->places[as_index(place)].owners;
  return {{slice_length(region.elements(), owners)}, weight.spec.dtype};
}

Region box_of(const UnitRequest& request, std::size_t job, std::int32_t tile) {
  const Distribution& distribution = request.distribution;
  const OperatorTiles& op = distribution.operators[as_index(distribution.outline.jobs[job].op)];
  const TileSet& set = request.tables.tiles.set(distribution.jobs[job].set);
  Region box;
  for (std::size_t axis = 0; axis < op.parts.size(); ++axis) {
    RangesId parts = op.parts[axis];
    box.ranges.push_back(
        parts == 0 ? Range{0, op.extents[axis]}
                   : request.tables.tiles.ranges(parts)[as_index(set.part(tile, op.digits[axis]))]);
  }
  return box;
}

KernelKey key_of(const UnitRequest& request, std::size_t job, std::int32_t tile) {
  const Job& own = request.distribution.outline.jobs[job];
  auto op = as_index(own.op);
  const Signature& s = request.tables.index.signatures[op];
  Region box = box_of(request, job, tile);
  KernelKey key{
      localize(request.request.graph->operators[op].op, s, box), {}, own.phase->phase, {}};
  for (int slot : s.slots_of(Role::input)) {
    const Slot& input = s.slots[as_index(slot)];
    key.inputs.push_back({region_of(input, box).shape(), input.spec.dtype});
  }
  return key;
}

UnitGraph make_unit_graph(const UnitRequest& request) { return UnitGraphBuilder(request).build(); }

}  // namespace troika
