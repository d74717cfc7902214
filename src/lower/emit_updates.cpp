// Updates of the parameters that a device stores, whole or in slices.
#include <algorithm>

#include "lower/device_emitter.h"
#include "lower/planned_calls.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

/// Of the tasks for the boxes of one stored part.
constexpr std::uint32_t kIdsOfPart = 64;

[[noreturn]] void refuse_boxes() {
  throw OutOfIds("a device stores a parameter in more pieces than its norm can be counted in");
}

/// `next`: the id after those of the part's tasks.
void check_ids_of_part(const IdFields& next, std::int32_t local) {
  if (next.index > kIdsOfPart * (static_cast<std::uint32_t>(local) + 1)) refuse_boxes();
}

}  // namespace

std::int32_t DeviceEmitter::local_of(std::size_t update, std::int32_t place) const {
  return here_.place_of(value(as_index(plan_.updates[update].weight)).stored.set, place);
}

const Fragment& DeviceEmitter::emit_update(std::size_t at) {
  fragment_.clear();
  for (std::int32_t place : here_.tiles_here(value(as_index(plan_.updates[at].weight)).stored.set))
    emit_update_at(at, place);
  for (std::size_t message = 0; message < plan_.bucket_of[at].size(); ++message)
    if (BucketPart part = plan_.bucket_of[at][message]; part.bucket >= 0 && part.part == 0)
      emit_bucket(part.bucket);
  return fragment_;
}

void DeviceEmitter::emit_update_at(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  if (plan_.request.optimizer->watches_gradient() &&
      !plan_.request.graph->parameters[as_index(update.parameter)].state)
    emit_squares(at, place);
  if (update.shared != nullptr) emit_scatter(at, place);
  for (std::size_t phase = 0; phase < update.phases.size(); ++phase)
    emit_phase_of(at, place, phase);
  if (update.shared != nullptr) emit_gather(at, place);
}

void DeviceEmitter::emit_phase_of(std::size_t at, std::int32_t place, std::size_t phase) {
  const UpdatePlan& update = plan_.updates[at];
  TileSetId set = value(as_index(update.weight)).stored.set;
  auto local = static_cast<std::uint32_t>(local_of(at, place));
  bool norms = update.phases[phase] == Phase::statistics_1;
  Moment moment = plan_.update_moments[at];
  moment.turn.rank =
      norms ? rank_in(kNormRanks, 32 * local + 1) : rank_in(kApplyRanks, 2 * local + 1);
  if (norms && !update.counted.empty()) return emit_counted_norms(at, place, moment);
  const KernelUnit& unit = plan_.units.updates[at][as_index(here_.kind_of(set, place))][phase];
  PlannedTask task =
      begin(WorkKind::update, static_cast<std::int32_t>(at), static_cast<std::int32_t>(phase));
  task.unit = &unit;
  for (std::size_t operand = 0; operand < update.operands[phase].size(); ++operand) {
    const UpdateOperand& own = update.operands[phase][operand];
    BufferRef buffer = update_operand(at, place, own);
    if (own.access == Access::read)
      buffer = in_layout(buffer, unit.choice.layouts[operand], moment);
    use(buffer, own.access);
  }
  add(task, moment,
      {.phase = static_cast<std::uint32_t>(Phase::update) + (norms ? 1u : 0u),
       .subject = Subject::parameter,
       .number = static_cast<std::uint32_t>(update.parameter),
       .index = local});
}

std::size_t DeviceEmitter::counted_boxes(std::size_t update, std::int32_t place) const {
  if (plan_.updates[update].counted.empty()) return 1;
  std::size_t boxes = here_.counted(update, place).size();
  if (boxes > static_cast<std::size_t>(kMostCountedBoxes)) refuse_boxes();
  return boxes;
}

/// A box of a stored part that no part before it has, so that sums over such boxes count each
/// element once: `whole`, or a copy out of it. `index`: as in BufferRole::counted.
BufferRef DeviceEmitter::counted_part(std::size_t at, std::int32_t place, const BufferRef& whole,
                                      std::int32_t index, Moment& moment, IdFields& id) {
  const UpdatePlan& update = plan_.updates[at];
  if (update.counted.empty()) return whole;
  const DistributedValue& weight = value(as_index(update.weight));
  Region region = region_of(plan_.tables.tiles, weight.stored, place, weight.spec.shape);
  const Region& box = here_.counted(at, place)[as_index(index % kMostCountedBoxes)];
  if (box == region) return whole;
  BufferRef part{.role = BufferRole::counted,
                 .part = static_cast<std::uint16_t>(local_of(at, place)),
                 .of = static_cast<std::int32_t>(at),
                 .index = index};
  Region from = within(box, region);
  Shape shape = from.shape();
  Assemble op{.shape = {shape.begin(), shape.end()}, .layered = true};
  PlannedTask task = begin(WorkKind::assemble, -1, -1);
  add_box(op, task, {from, Region::whole(shape)});
  use(in_layout(whole, Layout::plain, moment), Access::read);
  use(part, Access::write);
  add_movement(task, {op, {here_.spec_of(whole)}, Phase::forward, {}}, moment, id);
  moment.turn.rank += 2;
  ++id.index;
  return part;
}

/// Each element of a gradient that several devices have counts once: each adds its share.
void DeviceEmitter::emit_squares(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  std::int64_t copies = 1;
  if (update.shared == nullptr)
    copies = update.groups->copies[as_index(update.groups->region[as_index(place)])];
  std::int32_t local = local_of(at, place);
  Moment moment{end_of_step(plan_, 0)};
  moment.turn.number = static_cast<std::uint32_t>(update.parameter);
  moment.turn.rank = 1 + 32 * static_cast<std::uint32_t>(local);
  IdFields id{.phase = 12,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = kIdsOfPart * static_cast<std::uint32_t>(local)};
  for (std::size_t box = 0; box < counted_boxes(at, place); ++box) {
    auto index = static_cast<std::int32_t>(box);
    BufferRef part = counted_part(at, place, gradient_part(at, place),
                                  kCountedSquares * kMostCountedBoxes + index, moment, id);
    PlannedTask task = begin(WorkKind::square_sum, static_cast<std::int32_t>(at), index);
    use(part, Access::read);
    use({.role = BufferRole::square,
         .part = static_cast<std::uint16_t>(local),
         .of = static_cast<std::int32_t>(at),
         .index = index},
        Access::write);
    add_movement(task, {SquareSum{.copies = copies}, {here_.spec_of(part)}, Phase::forward, {}},
                 moment, id);
    moment.turn.rank += 2;
    ++id.index;
  }
  check_ids_of_part(id, local);
}

/// Square sums over the boxes that count, added up.
void DeviceEmitter::emit_counted_norms(std::size_t at, std::int32_t place, Moment moment) {
  const UpdatePlan& update = plan_.updates[at];
  auto norms = as_index(update.norms);
  auto local = static_cast<std::uint16_t>(local_of(at, place));
  auto of = static_cast<std::int32_t>(at);
  IdFields id{.phase = 7,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = kIdsOfPart * local};
  std::size_t boxes = counted_boxes(at, place);
  for (std::size_t box = 0; box < boxes; ++box) emit_counted_norm(at, place, box, moment, id);
  PlannedTask total = begin(WorkKind::sum, update.norms, -1);
  for (std::size_t box = 0; box < boxes; ++box)
    use({.role = BufferRole::counted_norm,
         .part = local,
         .of = of,
         .index = static_cast<std::int32_t>(box)},
        Access::read);
  if (boxes == 0) use({.role = BufferRole::zero_norms, .of = of}, Access::read);
  std::size_t count = std::max<std::size_t>(boxes, 1);
  use(here_.written(norms, 0, 0, place), Access::write);
  add_movement(total,
               {Sum{.count = static_cast<std::int64_t>(count)},
                std::vector(count, value(norms).spec),
                Phase::forward,
                {}},
               moment, id);
  ++id.index;
  check_ids_of_part(id, local);
  if (moment.turn.rank >= kNormRanks.end) refuse_boxes();
}

void DeviceEmitter::emit_counted_norm(std::size_t at, std::int32_t place, std::size_t box,
                                      Moment& moment, IdFields& id) {
  const UpdatePlan& update = plan_.updates[at];
  auto index = static_cast<std::int32_t>(box);
  std::vector<PlannedUse> operands;
  TensorSpec spec;
  for (const UpdateOperand& operand : update.operands[0]) {
    BufferRef buffer;
    if (operand.role == Role::statistic) {
      buffer = {.role = BufferRole::counted_norm,
                .part = static_cast<std::uint16_t>(local_of(at, place)),
                .of = static_cast<std::int32_t>(at),
                .index = index};
    } else if (operand.role == Role::weight || operand.role == Role::state) {
      std::int32_t which = operand.role == Role::state ? kCountedState + operand.slot
                           : operand.gradient          ? kCountedGradient
                                                       : kCountedWeight;
      buffer = counted_part(at, place, update_operand(at, place, operand),
                            which * kMostCountedBoxes + index, moment, id);
      buffer = in_layout(buffer, Layout::plain, moment);
      if (which == kCountedWeight) spec = here_.spec_of(buffer);
    } else {
      buffer = update_operand(at, place, operand);
    }
    operands.push_back({buffer, operand.access});
  }
  PlannedTask task = begin(WorkKind::square_sum, static_cast<std::int32_t>(at), index);
  for (const PlannedUse& each : operands) use(each.buffer, each.access);
  add_movement(task, {*update.rule, {spec}, Phase::statistics_1, {}}, moment, id);
  moment.turn.rank += 2;
  ++id.index;
}

BufferRef DeviceEmitter::update_operand(std::size_t at, std::int32_t place,
                                        const UpdateOperand& operand) {
  const UpdatePlan& update = plan_.updates[at];
  auto of = static_cast<std::int32_t>(at);
  switch (operand.role) {
    case Role::scalars:
      return {.role = BufferRole::scalars, .index = plan_.update_moments[at].lag};
    case Role::control:
      return {.role = BufferRole::control, .index = 0};
    case Role::statistic: {
      auto norms = as_index(update.norms);
      if (operand.access == Access::write) return here_.written(norms, 0, 0, place);
      return here_.read_by(norms, 0, 0, place);
    }
    case Role::state:
      return {.role = BufferRole::state,
              .part = static_cast<std::uint16_t>(local_of(at, place)),
              .of = of,
              .index = operand.slot};
    case Role::weight:
    case Role::input:
    case Role::output:
    case Role::saved:
      return operand.gradient ? gradient_part(at, place) : weight_part(at, place);
  }
  return {};
}

BufferRef DeviceEmitter::weight_part(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  if (update.shared == nullptr) return here_.written(as_index(update.weight), 0, 0, place);
  return {.role = BufferRole::slice,
          .part = static_cast<std::uint16_t>(local_of(at, place)),
          .of = static_cast<std::int32_t>(at),
          .index = 0};
}

BufferRef DeviceEmitter::gradient_part(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  auto gradient = as_index(update.gradient);
  if (update.shared == nullptr) return here_.read_by(gradient, 0, value(gradient).updates, place);
  return {.role = BufferRole::slice,
          .part = static_cast<std::uint16_t>(local_of(at, place)),
          .of = static_cast<std::int32_t>(at),
          .index = 1};
}

/// The sum of the gradient, of which the device gets its slice. What pads the vector is zero, so
/// that norms over slices are right.
void DeviceEmitter::emit_scatter(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  auto of = static_cast<std::int32_t>(at);
  auto gradient = as_index(update.gradient);
  const SharedUpdate& shared = update.shared->places[as_index(place)];
  const Message& message = value(gradient).spread.moves->messages[as_index(shared.message)];
  auto local = static_cast<std::uint16_t>(local_of(at, place));
  IdFields id{.phase = 13,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = local * 4u};
  Moment start = moment_of(plan_, gradient, 0, message.start);
  start.turn.rank = rank_in(kScatterRanks, 1);
  if (std::int64_t tail = here_.padding_of(at, place); tail > 0) {
    TensorSpec spec{{tail}, value(gradient).spec.dtype};
    Assemble clear{.shape = {tail}, .layered = true};
    Region all = Region::whole(spec.shape);
    PlannedTask task = begin(WorkKind::assemble, update.gradient, -1);
    add_box(clear, task, {all, all});
    use({.role = BufferRole::zero_tail, .part = local, .of = of}, Access::read);
    use({.role = BufferRole::slice, .part = local, .of = of, .index = 2}, Access::write);
    add_movement(task, {clear, {spec}, Phase::forward, {}}, start, id);
  }
  start.turn.rank += 2;
  Moment finish = moment_of(plan_, gradient, 0, message.finish);
  finish.turn.rank = rank_in(kScatterRanks, 5);
  BufferRef vector = here_.read_by(gradient, 0, value(gradient).updates, place);
  for (bool starts : {true, false}) {
    ++id.index;
    emit_end({CallKind::scatter, of, 0, shared.message, shared.owner, starts}, vector,
             starts ? start : finish, id);
  }
}

void DeviceEmitter::emit_gather(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  const SharedUpdate& shared = update.shared->places[as_index(place)];
  IdFields id{.phase = 14,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = 2 * static_cast<std::uint32_t>(local_of(at, place))};
  BufferRef stored = here_.written(as_index(update.weight), 0, 0, place);
  Moment moment = plan_.update_moments[at];
  for (bool starts : {true, false}) {
    moment.turn.rank = rank_in(kSharedRanks, starts ? 1 : 3);
    emit_end(
        {CallKind::gather, static_cast<std::int32_t>(at), 0, shared.message, shared.owner, starts},
        stored, moment, id);
    ++id.index;
  }
}

void DeviceEmitter::emit_bucket(std::int32_t at) {
  const GradientBucket& bucket = plan_.buckets.at(at);
  const GradientBucket::Part& first = bucket.parts[0];
  const UpdatePlan& update = plan_.updates[as_index(first.update)];
  const Moves& moves = *value(as_index(update.gradient)).spread.moves;
  const Message& message = moves.messages[as_index(first.message)];
  BufferRef vector{.role = BufferRole::bucket, .of = at};
  auto here = as_index(here_.number());
  for (std::int32_t each = moves.first_step[here]; each < moves.first_step[here + 1]; ++each) {
    const Step& step = moves.steps[as_index(each)];
    if (step.kind != Step::Kind::start || step.message != first.message) continue;
    auto entry = as_index(message.first_member + step.member);
    for (bool starts : {true, false}) {
      Moment moment = starts ? bucket.start : bucket.finish;
      moment.turn.rank = rank_in(kBucketRanks, starts ? 1 : 3);
      emit_end({CallKind::bucket, at, 0, 0, step.member, starts}, vector, moment,
               {.phase = 11,
                .subject = Subject::parameter,
                .number = static_cast<std::uint32_t>(update.parameter),
                .index = static_cast<std::uint32_t>(2 * moves.part[entry] + (starts ? 0 : 1))});
    }
  }
}

}  // namespace troika
