#include "lower/device_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

Category category_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::tensor:
    case ValueKind::gradient:
    case ValueKind::kept:
      return Category::activation;
    case ValueKind::parameter:
      return Category::parameter;
    case ValueKind::parameter_gradient:
      return Category::gradient;
    case ValueKind::unused:
    case ValueKind::norms:
      return Category::workspace;
  }
  throw Bug("a value of no kind");
}

/// Passing copies of parameters are workspace.
Category category_of_copy(Category original) {
  return original == Category::parameter ? Category::workspace : original;
}

}  // namespace

DeviceEmitter::DeviceEmitter(const ProgramPlan& plan, PlannedTasks& made, CallTable& calls,
                             std::int32_t device)
    : plan_(plan),
      made_(made),
      calls_(calls),
      device_(device),
      locals_(outline().values.size() * as_index(plan.micro_batches())) {}

void DeviceEmitter::emit() {
  note_inputs();
  emit_phases();
  emit_moves();
  if (plan_.request.optimizer != nullptr) {
    emit_loss();
    emit_updates();
    emit_buckets();
  }
  emit_output_sums();
  hold_outputs();
}

std::int32_t DeviceEmitter::add(PlannedBuffer buffer) {
  buffer.device = device_;
  made_.buffers.push_back(std::move(buffer));
  return static_cast<std::int32_t>(made_.buffers.size()) - 1;
}

PlannedTask& DeviceEmitter::add(PlannedTask task, const Moment& moment, IdFields id) {
  id.device = static_cast<std::uint32_t>(device_);
  task.turn = pack(moment.turn);
  task.id = pack(id);
  task.lag = moment.lag;
  task.device = device_;
  if (task.unit != nullptr && task.unit->choice.scratch.count > 0)
    task.scratch = add({.role = BufferRole::scratch,
                        .of = static_cast<std::int32_t>(made_.tasks.size()),
                        .spec = {{(task.unit->choice.scratch.count + 7) / 8}, DType::f64},
                        .category = Category::workspace});
  made_.tasks.push_back(std::move(task));
  return made_.tasks.back();
}

std::int32_t DeviceEmitter::add_key(KernelKey key) {
  made_.keys.push_back(std::move(key));
  return static_cast<std::int32_t>(made_.keys.size()) - 1;
}

void DeviceEmitter::add_box(Assemble& op, PlannedTask& task, const TakenBox& box) {
  troika::add_box(op, box.to);
  auto end = static_cast<std::int32_t>(made_.positions.size());
  if (task.position_count == 0) task.first_position = end;
  TROIKA_CHECK_EQ(task.first_position + task.position_count, end);
  for (const Range& range : box.from.ranges) made_.positions.push_back(range.begin);
  task.position_count += static_cast<std::int32_t>(box.from.rank());
}

std::int32_t DeviceEmitter::fixture(BufferRole role, std::int32_t index, const TensorSpec& spec) {
  auto [known, is_new] = fixtures_.try_emplace({role, index, to_string(spec)}, -1);
  if (is_new)
    known->second = add({.role = role,
                         .index = index,
                         .spec = spec,
                         .category = Category::workspace,
                         .persistent = true});
  return known->second;
}

std::int32_t DeviceEmitter::zeros(const TensorSpec& spec) {
  return fixture(BufferRole::zeros, 0, spec);
}

std::span<const std::int32_t> DeviceEmitter::tiles_here(TileSetId id) const {
  const TileSet& set = plan_.tables.tiles.set(id);
  auto begin = as_index(set.first[as_index(device_)]);
  auto end = as_index(set.first[as_index(device_) + 1]);
  return std::span(set.tiles).subspan(begin, end - begin);
}

std::int32_t DeviceEmitter::place_of(TileSetId set, std::int32_t tile) const {
  std::span<const std::int32_t> here = tiles_here(set);
  return static_cast<std::int32_t>(std::ranges::lower_bound(here, tile) - here.begin());
}

std::int32_t DeviceEmitter::kind_of(TileSetId set, std::int32_t tile) const {
  return plan_.tables.tiles.kind(plan_.distribution.kinds_of(set).kinds, tile);
}

std::int32_t DeviceEmitter::contribution_local(std::size_t at, std::size_t contribution,
                                               std::int32_t tile) const {
  const OutlinedValue& own = outline().values[at];
  auto set_of = [&](std::size_t writer) {
    if (value(at).stored.shared || own.kind == ValueKind::norms) return value(at).stored.set;
    const ValueUse& use = own.writers[writer % own.writers.size()];
    return plan_.distribution.jobs[as_index(use.job)].set;
  };
  // Without moves there is one writer. With them the buffers of earlier contributions come first.
  std::int32_t before = 0;
  for (std::size_t earlier = 0; earlier < contribution; ++earlier)
    before += static_cast<std::int32_t>(tiles_here(set_of(earlier)).size());
  return before + place_of(set_of(contribution), tile);
}

std::int32_t DeviceEmitter::buffer_of(std::size_t at, std::int32_t micro_batch,
                                      std::int32_t local) {
  ValueKind kind = outline().values[at].kind;
  if (kind == ValueKind::parameter || kind == ValueKind::parameter_gradient ||
      kind == ValueKind::norms)
    micro_batch = 0;
  std::vector<std::int32_t>& locals =
      locals_[at * as_index(plan_.micro_batches()) +
              as_index(micro_batch)];
  if (locals.empty()) {
    const Moves* moves = value(at).spread.moves;
    auto here = as_index(device_);
    std::size_t count = moves == nullptr
                            ? tiles_here(value(at).spread.set).size()
                            : as_index(moves->first_buffer[here + 1] -
                                                       moves->first_buffer[here]);
    locals.assign(count, -1);
  }
  if (locals[as_index(local)] < 0) {
    // Describing one may ask for others, so the reference is not kept.
    std::int32_t made = add(describe(at, micro_batch, local));
    locals[as_index(local)] = made;
  }
  return locals[as_index(local)];
}

std::int32_t DeviceEmitter::read_by(std::size_t at, std::int32_t micro_batch, std::int32_t role,
                                    std::int32_t tile) {
  const Moves* moves = value(at).spread.moves;
  if (moves == nullptr)
    return buffer_of(at, micro_batch, place_of(value(at).spread.set, tile));
  std::int32_t read =
      moves->reads[as_index(role)][as_index(tile)];
  return buffer_of(at, micro_batch,
                   read - moves->first_buffer[as_index(device_)]);
}

PlannedBuffer DeviceEmitter::describe(std::size_t at, std::int32_t micro_batch,
                                      std::int32_t local) {
  const DistributedValue& own = value(at);
  const OutlinedValue& outlined = outline().values[at];
  PlannedBuffer made{.role = BufferRole::value,
                     .of = static_cast<std::int32_t>(at),
                     .index = local,
                     .micro_batch = micro_batch,
                     .category = category_of(outlined.kind)};
  std::size_t writer = 0;
  std::int32_t tile = -1;
  if (outlined.kind == ValueKind::parameter_gradient) join(at, local, made);
  if (own.spread.moves == nullptr) {
    tile = tiles_here(own.spread.set)[as_index(local)];
  } else {
    const Moves& moves = *own.spread.moves;
    std::int32_t number = moves.first_buffer[as_index(device_)] + local;
    const PlacedBuffer& placed = moves.buffers[as_index(number)];
    if (placed.kind != PlacedBuffer::Kind::written) {
      made.category = category_of_copy(made.category);
      made.layout = layout_of(plan_, at, number);
      made.spec = {shape_of(own, number), own.spec.dtype};
      if (placed.kind == PlacedBuffer::Kind::zeros) made.persistent = true;
      if (placed.kind == PlacedBuffer::Kind::block) {
        made.view_of = buffer_of(
            at, micro_batch,
            placed.origin - moves.first_buffer[as_index(device_)]);
        made.view_offset = size_of(own.spec.dtype) * (placed.offset * own.spread.scale);
      }
      return made;
    }
    writer = as_index(placed.origin);
    tile = placed.tile;
    if (outlined.kind == ValueKind::parameter_gradient)
      made.micro_batch = static_cast<std::int32_t>(writer / outlined.writers.size());
  }
  if (outlined.kind == ValueKind::norms) {
    made.spec = own.spec;
    return made;
  }
  if (own.stored.shared) {
    bool parameter = outlined.kind == ValueKind::parameter;
    made.spec = {region_of(plan_.tables.tiles, own.stored, tile, own.spec.shape).shape(),
                 own.spec.dtype};
    made.persistent = parameter;
    if (!parameter) return made;
    made.layout = plan_.units.stored[at][as_index(kind_of(own.stored.set, tile))];
    // In every program over the state, whether it updates the parameter or not.
    if (plan_.request.strategy->sync.sliced_update)
      made.padding =
          size_of(own.spec.dtype) *
          slice_padding(made.spec.shape.elements(),
                        own.groups->copies[as_index(own.groups->region[as_index(tile)])]);
    return made;
  }
  writer %= outlined.writers.size();
  const ValueUse& use = outlined.writers[writer];
  auto job = as_index(use.job);
  const JobTiles& tiles = plan_.distribution.jobs[job];
  const Participant& participant = tiles.uses[as_index(use.use)];
  made.spec = {region_of(plan_.tables.tiles, participant, tile, own.spec.shape).shape(),
               own.spec.dtype};
  if (outline().jobs[job].phase->view) {
    // The first use is what it is a view of; under another shape that must lie plain.
    std::int32_t part = made.micro_batch;
    auto viewed = as_index(outline().jobs[job].values[0]);
    std::int32_t from = read_by(viewed, part, tiles.roles[0], tile);
    Moment moment{turn_of(plan_, job, part, Side::at)};
    moment.turn.rank = 1;
    if (made_.buffers[as_index(from)].spec.shape != made.spec.shape)
      from = in_layout(from, Layout::plain, moment);
    made.view_of = from;
    made.layout = made_.buffers[as_index(from)].layout;
    return made;
  }
  made.layout = plan_.written[at][writer][as_index(kind_of(tiles.set, tile))];
  return made;
}

/// A gradient that travels in a bucket lies in its vector; one that is scattered is padded.
void DeviceEmitter::join(std::size_t at, std::int32_t local, PlannedBuffer& made) {
  const Moves* moves = value(at).spread.moves;
  if (moves == nullptr || plan_.update_of[at] < 0) return;
  auto update = as_index(plan_.update_of[at]);
  auto number = as_index(
      moves->first_buffer[as_index(device_)] + local);
  std::int32_t message = moves->message[number];
  if (message < 0) return;
  BucketPart part = plan_.bucket_of[update][as_index(message)];
  if (part.bucket >= 0) {
    made.view_of = bucket_vector(as_index(part.bucket));
    made.view_offset = plan_.buckets[as_index(part.bucket)]
                           .parts[as_index(part.part)]
                           .offset;
  } else if (is_scattered(update, message)) {
    const std::vector<std::int32_t>& reads =
        moves->reads[as_index(value(at).updates)];
    for (std::int32_t place : tiles_here(
             value(as_index(plan_.updates[update].weight)).stored.set))
      if (as_index(reads[as_index(place)]) == number)
        made.padding = size_of(value(at).spec.dtype) * padding_of(update, place);
  }
}

std::int32_t DeviceEmitter::in_layout(std::int32_t buffer, Layout layout, const Moment& moment) {
  const PlannedBuffer from = made_.buffers[as_index(buffer)];
  if (from.layout == layout) return buffer;
  // Right before the reader: those have odd ranks.
  Moment before = moment;
  before.turn.rank -= 1;
  auto [known, is_new] = copies_.try_emplace({buffer, layout});
  if (!is_new) {
    PlannedTask& task = made_.tasks[known->second.task];
    if (std::pair(before.lag, pack(before.turn)) < std::pair(task.lag, task.turn)) {
      task.turn = pack(before.turn);
      task.lag = before.lag;
    }
    return known->second.buffer;
  }
  std::int32_t copy = add({.role = BufferRole::copy,
                           .index = buffer,
                           .micro_batch = from.micro_batch,
                           .spec = from.spec,
                           .layout = layout,
                           .category = category_of_copy(from.category)});
  known->second = {copy, made_.tasks.size()};
  add({.kind = WorkKind::reorder,
       .of = buffer,
       .micro_batch = from.micro_batch,
       .key = add_key({Reorder{from.layout, layout}, {from.spec}, Phase::forward, {}}),
       .uses = {{buffer, Access::read}, {copy, Access::write}}},
      before,
      {.micro_batch = static_cast<std::uint32_t>(from.micro_batch),
       .phase = 15,
       .subject = Subject::step,
       .number = static_cast<std::uint32_t>(layout),
       .index = static_cast<std::uint32_t>(copies_.size())});
  return copy;
}

PlannedTasks plan_tasks(const ProgramPlan& plan, const std::vector<std::int32_t>& devices) {
  PlannedTasks made;
  CallTable calls(plan, made, nullptr);
  for (std::int32_t device : devices) DeviceEmitter(plan, made, calls, device).emit();
  return made;
}

PlannedTasks plan_folded(const ProgramPlan& plan, const Classes& classes) {
  PlannedTasks made;
  CallTable calls(plan, made, &classes);
  for (std::int32_t device : classes.first) DeviceEmitter(plan, made, calls, device).emit();
  return made;
}

}  // namespace troika
