#include "lower/planned_device.h"

#include <algorithm>

#include "base/error.h"
#include "lower/planned_calls.h"
#include "lower/state_entries.h"
#include "ops/step_scalars.h"

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

/// Temporary copies of parameters count as workspace.
Category category_of_copy(Category original) {
  return original == Category::parameter ? Category::workspace : original;
}

/// As its role says: values may as well, where they are stored.
bool outlives_step(BufferRole role) {
  switch (role) {
    case BufferRole::state:
    case BufferRole::scalars:
    case BufferRole::control:
    case BufferRole::requests:
    case BufferRole::zero_read:
    case BufferRole::zero_tail:
    case BufferRole::zero_norms:
    case BufferRole::zero_number:
      return true;
    case BufferRole::value:
    case BufferRole::slice:
    case BufferRole::square:
    case BufferRole::counted:
    case BufferRole::counted_norm:
    case BufferRole::number:
    case BufferRole::totals:
    case BufferRole::bucket:
      return false;
  }
  throw Bug("a buffer of no role");
}

}  // namespace

bool is_made_once(ValueKind kind) {
  return kind == ValueKind::parameter || kind == ValueKind::parameter_gradient ||
         kind == ValueKind::norms;
}

std::span<const std::int32_t> PlannedDevice::tiles_here(TileSetId id) const {
  const TileSet& set = plan_.tables.tiles.set(id);
  auto begin = as_index(set.first[as_index(device_)]);
  auto end = as_index(set.first[as_index(device_) + 1]);
  return std::span(set.tiles).subspan(begin, end - begin);
}

std::int32_t PlannedDevice::place_of(TileSetId set, std::int32_t tile) const {
  std::span<const std::int32_t> here = tiles_here(set);
  return static_cast<std::int32_t>(std::ranges::lower_bound(here, tile) - here.begin());
}

std::int32_t PlannedDevice::kind_of(TileSetId set, std::int32_t tile) const {
  return plan_.tables.tiles.kind(plan_.distribution.joined_kinds[as_index(set)], tile);
}

std::int32_t PlannedDevice::stored_place(std::size_t update, std::int32_t place) const {
  return tiles_here(value(as_index(plan_.updates[update].weight)).stored.set)[as_index(place)];
}

TileSetId PlannedDevice::set_of(std::size_t at, std::size_t contribution) const {
  const OutlinedValue& own = outline().values[at];
  if (value(at).stored.shared || own.kind == ValueKind::norms) return value(at).stored.set;
  const ValueUse& use = own.writers[contribution % own.writers.size()];
  return plan_.distribution.jobs[as_index(use.job)].set;
}

BufferRef PlannedDevice::buffer(std::size_t at, std::int32_t micro_batch,
                                std::int32_t number) const {
  const Moves& moves = *value(at).spread.moves;
  if (is_made_once(outline().values[at].kind)) micro_batch = 0;
  return {.part = static_cast<std::uint16_t>(micro_batch),
          .of = static_cast<std::int32_t>(at),
          .index = number - moves.first_buffer[as_index(device_)]};
}

BufferRef PlannedDevice::written(std::size_t at, std::int32_t micro_batch, std::size_t contribution,
                                 std::int32_t tile) const {
  // Without moves there is one writer. With them the buffers of earlier contributions come first.
  std::int32_t before = 0;
  for (std::size_t earlier = 0; earlier < contribution; ++earlier)
    before += static_cast<std::int32_t>(tiles_here(set_of(at, earlier)).size());
  if (is_made_once(outline().values[at].kind)) micro_batch = 0;
  return {.part = static_cast<std::uint16_t>(micro_batch),
          .of = static_cast<std::int32_t>(at),
          .index = before + place_of(set_of(at, contribution), tile)};
}

BufferRef PlannedDevice::read_by(std::size_t at, std::int32_t micro_batch, std::int32_t role,
                                 std::int32_t tile) const {
  const Moves* moves = value(at).spread.moves;
  if (moves == nullptr) return written(at, micro_batch, 0, tile);
  return buffer(at, micro_batch, moves->reads[as_index(role)][as_index(tile)]);
}

std::optional<PlannedDevice::Origin> PlannedDevice::origin_of(const BufferRef& ref) const {
  auto at = as_index(ref.of);
  const Moves* moves = value(at).spread.moves;
  if (moves == nullptr) return Origin{0, tiles_here(value(at).spread.set)[as_index(ref.index)]};
  const PlacedBuffer& placed =
      moves->buffers[as_index(moves->first_buffer[as_index(device_)] + ref.index)];
  if (placed.kind != PlacedBuffer::Kind::written) return std::nullopt;
  return Origin{as_index(placed.origin), placed.tile};
}

std::optional<PlannedDevice::View> PlannedDevice::view_of(const BufferRef& ref) const {
  if (ref.role != BufferRole::value || ref.is_copy()) return std::nullopt;
  const OutlinedValue& own = outline().values[as_index(ref.of)];
  auto is_view = [&](const ValueUse& use) { return outline().jobs[as_index(use.job)].phase->view; };
  if (value(as_index(ref.of)).stored.shared || std::ranges::none_of(own.writers, is_view))
    return std::nullopt;
  std::optional<Origin> origin = origin_of(ref);
  if (!origin) return std::nullopt;
  const ValueUse& use = own.writers[origin->contribution % own.writers.size()];
  if (!is_view(use)) return std::nullopt;
  auto part = static_cast<std::int32_t>(origin->contribution / own.writers.size());
  if (own.kind != ValueKind::parameter_gradient) part = ref.part;
  return View{as_index(use.job), part, origin->tile};
}

std::optional<BufferRef> PlannedDevice::viewed(const BufferRef& ref) const {
  std::optional<View> view = view_of(ref);
  if (!view) return std::nullopt;
  // The first use is what it is a view of; under another shape that must lie plain.
  const Job& job = outline().jobs[view->job];
  const JobTiles& tiles = plan_.distribution.jobs[view->job];
  BufferRef from = read_by(as_index(job.values[0]), view->micro_batch, tiles.roles[0], view->tile);
  auto shape = [&](std::size_t use) {
    auto at = as_index(job.values[use]);
    return shape_of_tile(plan_.tables.tiles, tiles.uses[use], view->tile, value(at).spec.shape);
  };
  std::size_t written = 0;
  while (job.values[written] != ref.of) ++written;
  if (shape(0) == shape(written) || layout_of(from) == Layout::plain) return from;
  return from.in(Layout::plain);
}

Layout PlannedDevice::layout_of(const BufferRef& ref) const {
  if (ref.is_copy()) return ref.copy_layout();
  if (ref.role == BufferRole::state) return state_layout(ref);
  if (ref.role == BufferRole::value) {
    auto at = as_index(ref.of);
    if (const Moves* moves = value(at).spread.moves; moves != nullptr)
      return troika::layout_of(plan_, at, moves->first_buffer[as_index(device_)] + ref.index);
    return layout_written(plan_, at, 0, origin_of(ref)->tile);
  }
  return Layout::plain;
}

TensorSpec PlannedDevice::spec_of(const BufferRef& ref) const {
  if (ref.role != BufferRole::value) return describe(ref).spec;
  auto at = as_index(ref.of);
  const DistributedValue& own = value(at);
  const OutlinedValue& outlined = outline().values[at];
  std::optional<Origin> origin = origin_of(ref);
  if (!origin) {
    std::int32_t number = own.spread.moves->first_buffer[as_index(device_)] + ref.index;
    return {shape_of(own, number), own.spec.dtype};
  }
  if (outlined.kind == ValueKind::norms) return own.spec;
  auto of_tile = [&](const Participant& participant) -> TensorSpec {
    return {shape_of_tile(plan_.tables.tiles, participant, origin->tile, own.spec.shape),
            own.spec.dtype};
  };
  if (own.stored.shared) return of_tile(own.stored);
  const ValueUse& use = outlined.writers[origin->contribution % outlined.writers.size()];
  return of_tile(plan_.distribution.jobs[as_index(use.job)].uses[as_index(use.use)]);
}

Bytes PlannedDevice::bytes_of(const BufferRef& ref) const {
  // Only parameters and their gradients are padded.
  bool is_plain = ref.role == BufferRole::value &&
                  outline().values[as_index(ref.of)].kind != ValueKind::parameter &&
                  outline().values[as_index(ref.of)].kind != ValueKind::parameter_gradient;
  if (is_plain) {
    TensorSpec spec = spec_of(ref);
    return stored_bytes(layout_of(ref), spec.shape, spec.dtype);
  }
  PlannedBuffer buffer = describe(ref);
  return stored_bytes(buffer.layout, buffer.spec.shape, buffer.spec.dtype) + buffer.padding;
}

/// It lies as the kernel wants it, and as other programs over it do.
Layout PlannedDevice::state_layout(const BufferRef& ref) const {
  auto update = as_index(ref.of);
  TileSetId set = value(as_index(plan_.updates[update].weight)).stored.set;
  return layout_of_state(plan_, update, ref.index, kind_of(set, stored_place(update, ref.part)));
}

PlannedBuffer PlannedDevice::describe(const BufferRef& ref) const {
  if (ref.is_copy()) {
    PlannedBuffer original = describe(ref.original());
    return {.ref = ref,
            .spec = original.spec,
            .layout = ref.copy_layout(),
            .category = category_of_copy(original.category)};
  }
  PlannedBuffer made{.ref = ref, .persistent = outlives_step(ref.role)};
  switch (ref.role) {
    case BufferRole::value:
      describe_value(made);
      break;
    case BufferRole::state:
    case BufferRole::slice:
      describe_slice(made);
      break;
    case BufferRole::counted:
      describe_counted(made);
      break;
    case BufferRole::counted_norm:
    case BufferRole::zero_norms:
      made.spec = value(as_index(plan_.updates[as_index(ref.of)].norms)).spec;
      break;
    case BufferRole::scalars:
      made.spec = {{kScalarCount}, DType::f64};
      break;
    case BufferRole::control:
      made.spec = {{kControlCount}, DType::f64};
      break;
    case BufferRole::zero_read:
    case BufferRole::zero_tail:
      made.spec = spec_of_zeros(ref);
      break;
    case BufferRole::requests:
    case BufferRole::zero_number:
    case BufferRole::square:
    case BufferRole::number:
      made.spec = kOneNumber;
      break;
    case BufferRole::totals:
      describe_totals(made);
      break;
    case BufferRole::bucket:
      describe_bucket(made);
      break;
  }
  return made;
}

TensorSpec PlannedDevice::spec_of_zeros(const BufferRef& ref) const {
  auto of = as_index(ref.of);
  if (ref.role == BufferRole::zero_tail)
    return {{padding_of(of, stored_place(of, ref.part))},
            value(as_index(plan_.updates[of].gradient)).spec.dtype};
  const JobTiles& tiles = plan_.distribution.jobs[of];
  const Participant& use = tiles.uses[as_index(ref.index)];
  const TensorSpec& read = value(as_index(outline().jobs[of].values[as_index(ref.index)])).spec;
  return {shape_of_tile(plan_.tables.tiles, use, tiles_here(tiles.set)[ref.part], read.shape),
          read.dtype};
}

void PlannedDevice::describe_totals(PlannedBuffer& made) const {
  const BufferRef& ref = made.ref;
  made.spec = {{ref.index < 0 ? numbers_of_totals(ref.of) : 1}, DType::f64};
  if (ref.index < 0) return;
  made.view_of = BufferRef{.role = BufferRole::totals, .of = ref.of};
  made.view_offset = kOneNumber.bytes() * ref.index;
}

void PlannedDevice::describe_bucket(PlannedBuffer& made) const {
  const GradientBucket& bucket = plan_.buckets.at(made.ref.of);
  const UpdatePlan& update = plan_.updates[as_index(bucket.parts[0].update)];
  DType dtype = value(as_index(update.gradient)).spec.dtype;
  made.spec = {{bucket.bytes.count / size_of(dtype).count}, dtype};
  made.category = Category::gradient;
}

void PlannedDevice::describe_value(PlannedBuffer& made) const {
  auto at = as_index(made.ref.of);
  made.spec = spec_of(made.ref);
  made.category = category_of(outline().values[at].kind);
  made.layout = layout_of(made.ref);
  join_message(made);
  std::optional<Origin> origin = origin_of(made.ref);
  if (!origin) return describe_moved(made);
  made.tile = origin->tile;
  made.contribution = static_cast<std::int32_t>(origin->contribution);
  if (outline().values[at].kind == ValueKind::norms) return;
  if (value(at).stored.shared) return describe_stored(made, *origin);
  if (std::optional<BufferRef> source = viewed(made.ref)) made.view_of = source;
}

void PlannedDevice::describe_moved(PlannedBuffer& made) const {
  auto at = as_index(made.ref.of);
  const DistributedValue& own = value(at);
  const Moves& moves = *own.spread.moves;
  std::int32_t number = moves.first_buffer[as_index(device_)] + made.ref.index;
  const PlacedBuffer& placed = moves.buffers[as_index(number)];
  made.category = category_of_copy(made.category);
  made.persistent = placed.kind == PlacedBuffer::Kind::zeros;
  if (placed.kind == PlacedBuffer::Kind::block) {
    made.view_of = buffer(at, made.ref.part, placed.origin);
    made.view_offset = size_of(own.spec.dtype) * (placed.offset * own.spread.scale);
  }
}

void PlannedDevice::describe_stored(PlannedBuffer& made, const Origin& origin) const {
  auto at = as_index(made.ref.of);
  const DistributedValue& own = value(at);
  made.persistent = outline().values[at].kind == ValueKind::parameter;
  // In every program over the state, whether it updates the parameter or not.
  if (made.persistent && plan_.request.strategy->sync.sliced_update)
    made.padding =
        size_of(own.spec.dtype) *
        slice_padding(made.spec.shape.elements(),
                      own.groups->copies[as_index(own.groups->region[as_index(origin.tile)])]);
}

/// A gradient that travels in a bucket lies in its vector; one that is scattered is padded.
void PlannedDevice::join_message(PlannedBuffer& made) const {
  auto at = as_index(made.ref.of);
  const Moves* moves = value(at).spread.moves;
  if (outline().values[at].kind != ValueKind::parameter_gradient || moves == nullptr ||
      plan_.update_of[at] < 0)
    return;
  auto update = as_index(plan_.update_of[at]);
  auto number = as_index(moves->first_buffer[as_index(device_)] + made.ref.index);
  std::int32_t message = moves->message[number];
  if (message < 0) return;
  BucketPart part = plan_.bucket_of[update][as_index(message)];
  if (part.bucket >= 0) {
    made.view_of = BufferRef{.role = BufferRole::bucket, .of = part.bucket};
    made.view_offset = plan_.buckets.at(part.bucket).parts[as_index(part.part)].offset;
  } else if (is_scattered(update, message)) {
    const std::vector<std::int32_t>& reads = moves->reads[as_index(value(at).updates)];
    for (std::int32_t place : tiles_here(value(as_index(plan_.updates[update].weight)).stored.set))
      if (as_index(reads[as_index(place)]) == number)
        made.padding = size_of(value(at).spec.dtype) * padding_of(update, place);
  }
}

/// A part of a stored weight, of its gradient, or of its state.
void PlannedDevice::describe_slice(PlannedBuffer& made) const {
  auto at = as_index(made.ref.of);
  const UpdatePlan& update = plan_.updates[at];
  std::int32_t place = stored_place(at, made.ref.part);
  auto weight = as_index(update.weight), gradient = as_index(update.gradient);
  made.tile = place;
  made.spec = updated_spec(plan_.unit_request(), update, place);
  if (made.ref.role == BufferRole::state) {
    for (const std::vector<UpdateOperand>& phase : update.operands)
      for (const UpdateOperand& operand : phase)
        if (operand.slot == made.ref.index) made.spec.dtype = operand.dtype;
    made.layout = state_layout(made.ref);
    made.category = Category::optimizer;
    return;
  }
  bool of_weight = made.ref.index == 0;
  made.category = of_weight ? Category::parameter : Category::gradient;
  made.view_of = of_weight ? written(weight, 0, 0, place)
                           : read_by(gradient, 0, value(gradient).updates, place);
  made.view_offset = made.spec.bytes() * update.shared->places[as_index(place)].owner;
  if (made.ref.index < 2) return;
  made.view_offset = spec_of(*made.view_of).bytes();
  made.spec = {{padding_of(at, place)}, made.spec.dtype};
}

void PlannedDevice::describe_counted(PlannedBuffer& made) const {
  auto at = as_index(made.ref.of);
  const UpdatePlan& update = plan_.updates[at];
  std::int32_t place = stored_place(at, made.ref.part);
  DType dtype = value(as_index(update.weight)).spec.dtype;
  for (const UpdateOperand& operand : update.operands[0])
    if (operand.role == Role::state &&
        kCountedState + operand.slot == made.ref.index / kMostCountedBoxes)
      dtype = operand.dtype;
  made.spec = {counted(at, place)[as_index(made.ref.index % kMostCountedBoxes)].shape(), dtype};
}

std::int64_t PlannedDevice::padding_of(std::size_t update, std::int32_t place) const {
  const UpdatePlan& own = plan_.updates[update];
  if (own.shared == nullptr) return 0;
  const DistributedValue& weight = value(as_index(own.weight));
  std::int64_t elements =
      shape_of_tile(plan_.tables.tiles, weight.stored, place, weight.spec.shape).elements();
  return slice_padding(elements, own.shared->places[as_index(place)].owners);
}

std::span<const Region> PlannedDevice::counted(std::size_t update, std::int32_t place) const {
  const UpdatePlan& own = plan_.updates[update];
  return own.counted[as_index(own.groups->region[as_index(place)])];
}

bool PlannedDevice::is_scattered(std::size_t update, std::int32_t message) const {
  const UpdatePlan& own = plan_.updates[update];
  return own.shared != nullptr && own.shared->place_of[as_index(message)] >= 0;
}

}  // namespace troika
