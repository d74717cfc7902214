#include "lower/unit_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "lower/names.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

/// Square sums of a parameter and of its update.
const TensorSpec kNorms{{2}, DType::f64};

class UnitGraphBuilder {
 public:
  UnitGraphBuilder(const UnitRequest& request, const UnitIndex& index, const UnitPart& part)
      : request_(request),
        index_(index),
        part_(part),
        distribution_(request.distribution),
        outline_(request.distribution.outline),
        is_inside_(request.request.graph->operators.size()),
        first_operand_(outline_.jobs.size(), -1),
        first_stored_(outline_.values.size(), -1) {
    for (std::int32_t op : part.operators) is_inside_[as_index(op)] = true;
    scalars_ = add_buffer({.spec = {{kScalarCount}, DType::f64}, .stays = true});
    control_ = add_buffer({.spec = {{kControlCount}, DType::f64}, .stays = true});
  }

  UnitGraph build() {
    std::vector<std::int32_t> jobs;
    for (std::int32_t op : part_.operators)
      jobs.insert(jobs.end(), index_.jobs.begin() + index_.first[as_index(op)],
                  index_.jobs.begin() + index_.first[as_index(op) + 1]);
    std::ranges::sort(jobs);
    for (std::int32_t job : jobs) add_job(as_index(job));
    for (std::int32_t op : part_.operators)
      if (part_.updates)
        for (std::int32_t update : index_.updates[as_index(op)]) add_update(update);
    hold_totals();
    tie_contributions();
    return std::move(made_);
  }

 private:
  const DistributedValue& value(std::size_t at) const { return distribution_.values[at]; }

  bool is_inside(const ValueUse& use) const {
    return is_inside_[as_index(outline_.jobs[as_index(use.job)].op)];
  }

  std::int32_t add_buffer(UnitBuffer buffer) {
    made_.buffers.push_back(std::move(buffer));
    return static_cast<std::int32_t>(made_.buffers.size()) - 1;
  }

  const std::vector<std::int32_t>& first_tiles(TileSetId set) const {
    return distribution_.kinds_of(set).first;
  }

  std::int32_t kind_of(TileSetId set, std::int32_t tile) const {
    return request_.tables.tiles.kind(distribution_.joined_kinds[as_index(set)], tile);
  }

  DeviceId device_of(TileSetId set, std::int32_t tile) const {
    return DeviceId(as_index(request_.tables.tiles.set(set).device[as_index(tile)]));
  }

  std::int32_t leader_of(TileSetId set, std::int32_t kind) const {
    const std::vector<std::int32_t>& first = first_tiles(set);
    auto device_kind = [&](std::int32_t of) -> const std::string& {
      return (*request_.request.machine)[device_of(set, first[as_index(of)])].kind;
    };
    std::int32_t leader = 0;
    while (leader < kind && device_kind(leader) != device_kind(kind)) ++leader;
    return leader;
  }

  Shape shape_of(const Participant& participant, std::int32_t tile, const Shape& whole) const {
    return shape_of_tile(request_.tables.tiles, participant, tile, whole);
  }

  void add_job(std::size_t at) {
    const Job& job = outline_.jobs[at];
    const std::vector<std::int32_t>& first = first_tiles(distribution_.jobs[at].set);
    std::size_t uses = job.values.size();
    std::size_t begin = operands_.size();
    first_operand_[at] = static_cast<std::int32_t>(begin);
    operands_.resize(begin + first.size() * uses, -1);
    for (std::size_t kind = 0; kind < first.size(); ++kind) {
      std::size_t own = begin + kind * uses;
      for (std::size_t use = 0; use < uses; ++use)
        if (job.phase->uses[use].access != Access::write)
          operands_[own + use] = read(at, use, first[kind]);
      for (std::size_t use = 0; use < uses; ++use)
        if (job.phase->uses[use].access == Access::write)
          operands_[own + use] =
              write({static_cast<std::int32_t>(at), static_cast<std::int32_t>(use)},
                    static_cast<std::int32_t>(kind), operands_[own]);
      if (!job.phase->view) add_unit(at, static_cast<std::int32_t>(kind), first[kind]);
    }
    tie_sums(at);
  }

  void add_unit(std::size_t at, std::int32_t kind, std::int32_t tile) {
    const Job& job = outline_.jobs[at];
    TileSetId set = distribution_.jobs[at].set;
    Unit unit{.job = static_cast<std::int32_t>(at),
              .kind = kind,
              .leader = leader_of(set, kind),
              .device = device_of(set, tile),
              .key = key_of(request_, at, tile)};
    std::size_t own = as_index(first_operand_[at]) + as_index(kind) * job.values.size();
    unit.uses.reserve(job.values.size());
    for (std::size_t use = 0; use < job.values.size(); ++use)
      unit.uses.push_back({operands_[own + use],
                           job.phase->uses[use].access,
                           {unit.job, static_cast<std::int32_t>(use)}});
    note_output(job, unit);
    made_.units.push_back(std::move(unit));
  }

  void note_output(const Job& job, Unit& unit) const {
    const Signature& s = request_.tables.index.signatures[as_index(job.op)];
    if (std::ranges::count(s.slots, Role::output, &Slot::role) != 1) return;
    for (std::size_t at = 0; at < job.phase->uses.size(); ++at) {
      const Use& use = job.phase->uses[at];
      if (s.slots[as_index(use.slot)].role != Role::output) continue;
      if (!use.gradient && use.access == Access::write) unit.output = static_cast<int>(at);
      if (use.gradient && use.access == Access::read) unit.gradient = static_cast<int>(at);
    }
  }

  std::int32_t read(std::size_t at, std::size_t use, std::int32_t tile) {
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
  std::int32_t source(std::size_t of, std::int32_t role, std::int32_t tile,
                      const Participant& reader) {
    const DistributedValue& own = value(of);
    const Moves* moves = own.spread.moves;
    if (outline_.values[of].writers.empty() && !own.stored.shared)
      return plain(of, shape_of(reader, tile, own.spec.shape));
    if (moves == nullptr) return writer_buffer(of, 0, tile);
    device_ = device_of(reader.set, tile);
    return resolved(of, moves->reads[as_index(role)][as_index(tile)],
                    shape_of(reader, tile, own.spec.shape));
  }

  std::int32_t resolved(std::size_t of, std::int32_t buffer, const Shape& shape) {
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
  std::int32_t writer_buffer(std::size_t of, std::size_t writer, std::int32_t tile) {
    if (value(of).stored.shared) return first_stored(of) + kind_of(value(of).stored.set, tile);
    const std::vector<ValueUse>& writers = outline_.values[of].writers;
    writer %= writers.size();
    auto job = as_index(writers[writer].job);
    std::int32_t kind = kind_of(distribution_.jobs[job].set, tile);
    if (!is_inside(writers[writer])) return from_outside(of, writer, kind);
    return operands_[as_index(first_operand_[job]) +
                     as_index(kind) * outline_.jobs[job].values.size() +
                     as_index(writers[writer].use)];
  }

  /// What an operator outside wrote.
  std::int32_t from_outside(std::size_t of, std::size_t writer, std::int32_t kind) {
    auto number = static_cast<std::int32_t>(of), written_by = static_cast<std::int32_t>(writer);
    for (const UnitGraph::Piece& known : outside_)
      if (known.value == number && known.writer == written_by && known.kind == kind)
        return known.buffer;
    const ValueUse& use = outline_.values[of].writers[writer];
    const JobTiles& tiles = distribution_.jobs[as_index(use.job)];
    std::int32_t tile = first_tiles(tiles.set)[as_index(kind)];
    std::int32_t buffer =
        add_buffer({.spec = {shape_of(tiles.uses[as_index(use.use)], tile, value(of).spec.shape),
                             value(of).spec.dtype},
                    .fixed = border_layout(of, writer),
                    .stays = true});
    outside_.push_back({number, written_by, kind, buffer});
    made_.from_outside.push_back(buffer);
    return buffer;
  }

  std::optional<Layout> border_layout(std::size_t of, std::size_t writer) const {
    if (part_.borders == nullptr || (*part_.borders)[of].empty()) return {};
    return (*part_.borders)[of][writer];
  }

  /// Put together by copies, or zero.
  std::int32_t plain(std::size_t of, const Shape& shape) {
    return add_buffer(
        {.spec = {shape, value(of).spec.dtype}, .fixed = Layout::plain, .stays = true});
  }

  /// The buffer of the first kind of place of a parameter or an input of the graph; those of the
  /// others are behind it.
  std::int32_t first_stored(std::size_t at) {
    if (first_stored_[at] >= 0) return first_stored_[at];
    const DistributedValue& own = value(at);
    const std::vector<std::int32_t>& first = first_tiles(own.stored.set);
    first_stored_[at] = static_cast<std::int32_t>(made_.buffers.size());
    for (std::size_t kind = 0; kind < first.size(); ++kind) {
      Region region = region_of(request_.tables.tiles, own.stored, first[kind], own.spec.shape);
      UnitBuffer buffer{
          .spec = {region.shape(), own.spec.dtype}, .fixed = border_layout(at, 0), .stays = true};
      bool parameter = outline_.values[at].kind == ValueKind::parameter;
      if (!parameter || lies_plain(at, first.size())) buffer.fixed = Layout::plain;
      if (parameter) fix_stored(buffer, {at, region, first[kind]}, parameter_name(at));
      made_.stored.push_back({static_cast<std::int32_t>(at), 0, static_cast<std::int32_t>(kind),
                              add_buffer(std::move(buffer))});
    }
    return first_stored_[at];
  }

  const std::string& parameter_name(std::size_t value) const {
    return request_.request.graph->parameters[as_index(outline_.values[value].of)].name;
  }

  /// A part of a parameter, or of a state of its update.
  struct StoredPart {
    std::size_t parameter;  // the value
    const Region& region;
    std::int32_t place;
  };

  /// Another program over the same state has decided how it lies.
  void fix_stored(UnitBuffer& buffer, const StoredPart& part, const std::string& name) const {
    if (index_.storage.empty()) return;
    const DistributedValue& own = value(part.parameter);
    auto found = index_.storage.find(name);
    if (found == index_.storage.end()) return;
    const StoredPlace* place =
        find_place(*found->second, device_of(own.stored.set, part.place), part.region);
    if (place == nullptr || place->run) return;
    TROIKA_CHECK(!buffer.fixed || *buffer.fixed == place->layout,
                 fmt::format("'{}' is stored {} by another program, but needed {}", name,
                             to_string(place->layout), to_string(*buffer.fixed)));
    buffer.fixed = place->layout;
  }

  /// Parts of several kinds may have readers that want them to lie differently. An update of them
  /// in another program takes one kernel for all, so they lie alike.
  bool lies_plain(std::size_t parameter, std::size_t kinds) const {
    const LowerRequest& request = request_.request;
    const std::string& name = parameter_name(parameter);
    return (request.strategy->sync.sliced_update && is_shared(value(parameter))) ||
           request.plain.contains(name) ||
           (kinds > 1 && request.updated_elsewhere.contains(name) &&
            !index_.storage.contains(name));
  }

  /// Several devices store the same: where updates are sliced, parts of it travel by themselves, so
  /// it lies plain in every program.
  static bool is_shared(const DistributedValue& own) {
    return std::ranges::any_of(own.groups->copies, [](std::int32_t copies) { return copies > 1; });
  }

  /// Of contributions that lie on the same device: one unit for all boxes of one shape.
  std::int32_t sum(std::size_t of, const Step& step, const Shape& shape) {
    auto number = static_cast<std::int32_t>(of);
    for (const UnitGraph::Piece& known : sums_)
      if (known.value == number && made_.buffers[as_index(known.buffer)].spec.shape == shape)
        return known.buffer;
    const Moves& moves = *value(of).spread.moves;
    std::vector<UnitUse> uses;
    for (std::int32_t input = 0; input < step.input_count; ++input) {
      std::int32_t buffer = moves.inputs[as_index(step.first_input + input)].buffer;
      bool summed = moves.maker[as_index(buffer)] >= 0;
      if (!summed) uses.push_back({resolved(of, buffer, shape), Access::read});
    }
    TensorSpec spec{shape, value(of).spec.dtype};
    std::int32_t total = add_buffer({.spec = spec, .stays = true});
    sums_.push_back({number, 0, 0, total});
    if (uses.empty()) return total;
    if (uses.size() == 1) uses.push_back(uses[0]);
    KernelKey key{
        Sum{.count = std::ssize(uses)}, std::vector(uses.size(), spec), Phase::forward, {}};
    uses.push_back({total, Access::write});
    made_.units.push_back({.device = device_, .key = std::move(key), .uses = std::move(uses)});
    return total;
  }

  std::int32_t write(const ValueUse& use, std::int32_t kind, std::int32_t viewed) {
    const Job& job = outline_.jobs[as_index(use.job)];
    const JobTiles& tiles = distribution_.jobs[as_index(use.job)];
    std::int32_t number = job.values[as_index(use.use)];
    auto of = as_index(number);
    std::int32_t tile = first_tiles(tiles.set)[as_index(kind)];
    std::int32_t writer = tiles.roles[as_index(use.use)];
    UnitBuffer buffer{.spec = {shape_of(tiles.uses[as_index(use.use)], tile, value(of).spec.shape),
                               value(of).spec.dtype},
                      .fixed = border_layout(of, as_index(writer))};
    buffer.stays = !std::ranges::all_of(outline_.values[of].readers,
                                        [&](const ValueUse& reader) { return is_inside(reader); });
    if (buffer.stays) made_.to_outside.push_back(static_cast<std::int32_t>(made_.buffers.size()));
    if (job.phase->view) buffer.view_of = viewed;
    // A value that is moved has several readers. It must be plain if boxes are copied out of it.
    if (const Moves* moves = value(of).spread.moves) {
      buffer.stays = true;
      if (moves->assembles) buffer.asked.insert(Layout::plain);
    }
    std::int32_t id = add_buffer(std::move(buffer));
    made_.written.push_back({number, writer, kind, id});
    return id;
  }

  /// Messages add up what several operators wrote, and sums of it, which must lie alike.
  void tie_contributions() {
    std::map<std::int32_t, std::vector<std::int32_t>> pieces;  // by value
    for (const std::vector<UnitGraph::Piece>* list : {&made_.written, &outside_, &sums_})
      for (const UnitGraph::Piece& piece : *list)
        if (piece.value >= 0 && is_reduced_by_several(as_index(piece.value)))
          pieces[piece.value].push_back(piece.buffer);
    for (auto& [of, buffers] : pieces)
      if (buffers.size() > 1) made_.tied.push_back(std::move(buffers));
  }

  bool is_reduced_by_several(std::size_t of) const {
    const Moves* moves = value(of).spread.moves;
    return moves != nullptr && outline_.values[of].writers.size() > 1 &&
           std::ranges::find(moves->reduces_written, true) != moves->reduces_written.end();
  }

  /// Tiles of several kinds add up their results, which must lie alike.
  void tie_sums(std::size_t at) {
    const Job& job = outline_.jobs[at];
    std::size_t kinds = first_tiles(distribution_.jobs[at].set).size();
    for (std::size_t use = 0; kinds > 1 && use < job.values.size(); ++use) {
      if (job.phase->uses[use].access != Access::write) continue;
      const Moves* moves = value(as_index(job.values[use])).spread.moves;
      auto writer = as_index(distribution_.jobs[at].roles[use]);
      if (moves == nullptr || !moves->reduces_written[writer]) continue;
      std::vector<std::int32_t>& tied = made_.tied.emplace_back();
      for (std::size_t kind = 0; kind < kinds; ++kind)
        tied.push_back(operands_[as_index(first_operand_[at]) + kind * job.values.size() + use]);
    }
  }

  void hold_totals() {
    auto hold = [&](TensorId tensor) {
      std::int32_t of = outline_.tensors[tensor.index()];
      for (const UnitGraph::Piece& piece : made_.written) {
        if (of < 0 || piece.value != of) continue;
        UnitBuffer& buffer = made_.buffers[as_index(piece.buffer)];
        // Of a view the host gets a copy.
        if (buffer.view_of < 0) buffer.fixed = Layout::plain;
        buffer.asked.insert(Layout::plain);
        buffer.stays = true;
      }
    };
    const Graph& graph = *request_.request.graph;
    if (graph.loss && request_.request.optimizer != nullptr)
      hold(graph.loss->loss_sum), hold(graph.loss->weight_sum);
    for (const NamedTensor& output : graph.outputs)
      if (std::ranges::count(request_.request.outputs, output.name) > 0) hold(output.tensor);
  }

  void add_update(std::int32_t at) {
    const UpdatePlan& update = request_.updates[as_index(at)];
    const std::vector<std::int32_t>& first = first_tiles(value(as_index(update.weight)).stored.set);
    for (std::size_t kind = 0; kind < first.size(); ++kind) {
      states_.clear();
      gradient_ = -1;
      for (std::size_t phase = 0; phase < update.phases.size(); ++phase)
        add_update_unit({.update = at,
                         .kind = static_cast<std::int32_t>(kind),
                         .phase = static_cast<std::int32_t>(phase)},
                        first[kind]);
    }
  }

  void add_update_unit(Unit unit, std::int32_t place) {
    const UpdatePlan& update = request_.updates[as_index(unit.update)];
    TileSetId set = value(as_index(update.weight)).stored.set;
    TensorSpec spec = updated_spec(request_, update, place);
    unit.leader = leader_of(set, unit.kind);
    unit.device = device_of(set, place);
    unit.key = {*update.rule, {spec}, update.phases[as_index(unit.phase)], {}};
    const std::vector<UpdateOperand>& operands = update.operands[as_index(unit.phase)];
    for (std::size_t at = 0; at < operands.size(); ++at)
      unit.uses.push_back({update_operand(unit, operands[at], place),
                           operands[at].access,
                           {-1, static_cast<std::int32_t>(at)}});
    made_.units.push_back(std::move(unit));
  }

  std::int32_t update_operand(const Unit& unit, const UpdateOperand& operand, std::int32_t place) {
    const UpdatePlan& update = request_.updates[as_index(unit.update)];
    TensorSpec spec{unit.key.inputs[0].shape, operand.dtype};
    auto weight = as_index(update.weight), gradient = as_index(update.gradient);
    switch (operand.role) {
      case Role::scalars:
        return scalars_;
      case Role::control:
        return control_;
      case Role::statistic:
        return add_buffer({.spec = kNorms, .fixed = Layout::plain, .stays = true});
      case Role::state:
        return state(unit, operand, {weight, {}, place});
      case Role::input:
      case Role::output:
      case Role::saved:
      case Role::weight:
        break;
    }
    // A slice of a parameter or of its gradient.
    if (update.shared != nullptr) return add_buffer({.spec = spec, .stays = true});
    if (!operand.gradient) return first_stored(weight) + unit.kind;
    if (gradient_ < 0)
      gradient_ = source(gradient, value(gradient).updates, place, value(weight).stored);
    return gradient_;
  }

  std::int32_t state(const Unit& unit, const UpdateOperand& operand, const StoredPart& of) {
    for (auto [slot, buffer] : states_)
      if (slot == operand.slot) return buffer;
    const DistributedValue& weight = value(of.parameter);
    UnitBuffer buffer{.spec = {unit.key.inputs[0].shape, operand.dtype}, .stays = true};
    Region region = region_of(request_.tables.tiles, weight.stored, of.place, weight.spec.shape);
    if (!index_.storage.empty())
      fix_stored(buffer, {of.parameter, region, of.place},
                 parameter_name(of.parameter) + "." + operand.name);
    states_.emplace_back(operand.slot, add_buffer(std::move(buffer)));
    return states_.back().second;
  }

  const UnitRequest& request_;
  const UnitIndex& index_;
  const UnitPart& part_;
  const Distribution& distribution_;
  const Outline& outline_;
  UnitGraph made_;
  std::vector<bool> is_inside_;              // by operator
  std::vector<std::int32_t> first_operand_;  // by job: in operands_; -1: it is outside
  std::vector<std::int32_t> first_stored_;   // by value: its first buffer; -1: not used so far
  std::vector<std::int32_t> operands_;       // buffers by kind and use
  std::vector<UnitGraph::Piece> outside_, sums_;
  std::vector<std::pair<int, std::int32_t>> states_;  // of the update in the making: slot, buffer
  std::int32_t scalars_ = -1, control_ = -1, gradient_ = -1;
  DeviceId device_;  // of the reader whose operand is looked for
};

}  // namespace

UnitIndex::UnitIndex(const UnitRequest& request) {
  const Outline& outline = request.distribution.outline;
  first.assign(request.request.graph->operators.size() + 1, 0);
  updates.resize(request.request.graph->operators.size());
  for (const Job& job : outline.jobs) ++first[as_index(job.op) + 1];
  for (std::size_t op = 1; op < first.size(); ++op) first[op] += first[op - 1];
  jobs.resize(outline.jobs.size());
  std::vector<std::int32_t> next = first;
  for (std::size_t job = 0; job < outline.jobs.size(); ++job)
    jobs[as_index(next[as_index(outline.jobs[job].op)]++)] = static_cast<std::int32_t>(job);
  for (std::size_t at = 0; at < request.updates.size(); ++at) {
    const OutlinedValue& weight = outline.values[as_index(request.updates[at].weight)];
    updates[as_index(weight.slots.at(0).op)].push_back(static_cast<std::int32_t>(at));
  }
  for (const StateEntry& entry : request.request.storage) storage.emplace(entry.name, &entry);
}

UnitGraph make_unit_graph(const UnitRequest& request, const UnitIndex& index,
                          const UnitPart& part) {
  return UnitGraphBuilder(request, index, part).build();
}

bool find_rows(UnitGraph& graph, const Machine& machine, const KernelTable& table) {
  bool all = true;
  for (Unit& unit : graph.units) {
    unit.row = table.find(machine[unit.device].kind, unit.key);
    all = all && unit.row != nullptr;
  }
  return all;
}

}  // namespace troika
