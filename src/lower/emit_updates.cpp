// Updates of the parameters that a device stores, whole or in slices.
#include <algorithm>

#include "lower/device_emitter.h"
#include "ops/step_scalars.h"

namespace troika {

bool DeviceEmitter::is_scattered(std::size_t update, std::int32_t message) const {
  const UpdatePlan& own = plan_.updates[update];
  return own.shared != nullptr && own.shared->place_of[as_index(message)] >= 0;
}

/// Elements behind the end of a region, so that all its owners have slices of one length.
std::int64_t DeviceEmitter::padding_of(std::size_t update, std::int32_t place) const {
  const UpdatePlan& own = plan_.updates[update];
  if (own.shared == nullptr) return 0;
  const DistributedValue& weight = value(as_index(own.weight));
  std::int64_t elements =
      region_of(plan_.tables.tiles, weight.stored, place, weight.spec.shape).elements();
  return slice_padding(elements, own.shared->places[as_index(place)].owners);
}

void DeviceEmitter::emit_updates() {
  for (std::size_t at = 0; at < plan_.updates.size(); ++at)
    for (std::int32_t place :
         tiles_here(value(as_index(plan_.updates[at].weight)).stored.set))
      emit_update(at, place);
}

void DeviceEmitter::emit_update(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  TileSetId set = value(as_index(update.weight)).stored.set;
  auto local = static_cast<std::uint32_t>(place_of(set, place));
  if (update.shared != nullptr) emit_scatter(at, place);
  for (std::size_t phase = 0; phase < update.phases.size(); ++phase) {
    bool norms = update.phases[phase] == Phase::statistics_1;
    Moment moment = plan_.update_moments[at];
    moment.turn.rank = (norms ? kUpdateRank + 32 * local : kApplyRank + 2 * local) + 1;
    if (norms && !update.counted.empty()) {
      emit_counted_norms(at, place, moment);
      continue;
    }
    const KernelUnit& unit = plan_.units.updates[at][as_index(
        kind_of(set, place))][phase];
    PlannedTask task{.kind = WorkKind::update,
                     .of = static_cast<std::int32_t>(at),
                     .index = static_cast<std::int32_t>(phase),
                     .unit = &unit};
    for (std::size_t operand = 0; operand < update.operands[phase].size(); ++operand) {
      const UpdateOperand& own = update.operands[phase][operand];
      std::int32_t buffer = update_operand(at, place, own);
      if (own.access == Access::read)
        buffer = in_layout(buffer, unit.choice.layouts[operand], moment);
      task.uses.push_back({buffer, own.access});
    }
    add(std::move(task), moment,
        {.phase = static_cast<std::uint32_t>(Phase::update) + (norms ? 1u : 0u),
         .subject = Subject::parameter,
         .number = static_cast<std::uint32_t>(update.parameter),
         .index = local});
  }
  if (update.shared != nullptr) emit_gather(at, place);
}

/// Square sums over the boxes that count, added up.
void DeviceEmitter::emit_counted_norms(std::size_t at, std::int32_t place, Moment moment) {
  const UpdatePlan& update = plan_.updates[at];
  auto norms = as_index(update.norms);
  std::int32_t out = buffer_of(norms, 0, contribution_local(norms, 0, place));
  const TensorSpec sums = value(norms).spec;
  IdFields id{.phase = 7,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = static_cast<std::uint32_t>(
                  64 * place_of(value(as_index(update.weight)).stored.set, place))};
  std::vector<std::int32_t> weights =
      counted_parts(at, place, weight_part(at, place), moment, id);
  std::vector<std::int32_t> gradients =
      counted_parts(at, place, gradient_part(at, place), moment, id);
  std::map<int, std::vector<std::int32_t>> states;
  for (const UpdateOperand& operand : update.operands[0])
    if (operand.role == Role::state)
      states[operand.slot] = counted_parts(at, place, state(at, place, operand), moment, id);
  PlannedTask total{.kind = WorkKind::sum};
  for (std::size_t part = 0; part < weights.size(); ++part) {
    TensorSpec spec = made_.buffers[as_index(weights[part])].spec;
    PlannedTask task{.kind = WorkKind::square_sum,
                     .of = static_cast<std::int32_t>(at),
                     .key = add_key({*update.rule, {spec}, Phase::statistics_1, {}})};
    for (const UpdateOperand& operand : update.operands[0]) {
      std::int32_t buffer = -1;
      if (operand.role == Role::statistic)
        buffer = add({.role = BufferRole::number, .spec = sums, .category = Category::workspace});
      else if (operand.role == Role::state)
        buffer = states.at(operand.slot)[part];
      else if (operand.role == Role::weight)
        buffer = operand.gradient ? gradients[part] : weights[part];
      else
        buffer = update_operand(at, place, operand);
      if (operand.role == Role::statistic) total.uses.push_back({buffer, Access::read});
      task.uses.push_back({buffer, operand.access});
    }
    add(std::move(task), moment, id);
    moment.turn.rank += 2;
    ++id.index;
  }
  if (total.uses.empty()) total.uses.push_back({zeros(sums), Access::read});
  auto count = static_cast<std::int64_t>(total.uses.size());
  total.key = add_key({Sum{.count = count}, std::vector(total.uses.size(), sums), Phase::forward, {}});
  total.uses.push_back({out, Access::write});
  add(std::move(total), moment, id);
}

std::int32_t DeviceEmitter::update_operand(std::size_t at, std::int32_t place,
                                           const UpdateOperand& operand) {
  const UpdatePlan& update = plan_.updates[at];
  switch (operand.role) {
    case Role::scalars:
      return fixture(BufferRole::scalars, plan_.update_moments[at].lag,
                     {{kScalarCount}, DType::f64});
    case Role::control:
      return fixture(BufferRole::control, 0, {{kControlCount}, DType::f64});
    case Role::statistic: {
      auto norms = as_index(update.norms);
      if (operand.access == Access::write)
        return buffer_of(norms, 0, contribution_local(norms, 0, place));
      return read_by(norms, 0, 0, place);
    }
    case Role::state:
      return state(at, place, operand);
    default:
      return operand.gradient ? gradient_part(at, place) : weight_part(at, place);
  }
}

std::int32_t DeviceEmitter::weight_part(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  auto weight = as_index(update.weight);
  std::int32_t whole = buffer_of(weight, 0, contribution_local(weight, 0, place));
  if (update.shared == nullptr) return whole;
  auto [known, is_new] = parts_.try_emplace({at, place, 0}, -1);
  if (is_new) {
    TensorSpec spec = updated_spec(plan_.unit_request(), update, place);
    std::int64_t owner = update.shared->places[as_index(place)].owner;
    known->second = add({.role = BufferRole::slice,
                         .of = static_cast<std::int32_t>(at),
                         .index = 0,
                         .spec = spec,
                         .category = Category::parameter,
                         .view_of = whole,
                         .view_offset = spec.bytes() * owner});
  }
  return known->second;
}

std::int32_t DeviceEmitter::gradient_part(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  auto gradient = as_index(update.gradient);
  std::int32_t whole = read_by(gradient, 0, value(gradient).updates, place);
  if (update.shared == nullptr) return whole;
  auto [known, is_new] = parts_.try_emplace({at, place, 1}, -1);
  if (is_new) {
    TensorSpec spec = updated_spec(plan_.unit_request(), update, place);
    std::int64_t owner = update.shared->places[as_index(place)].owner;
    known->second = add({.role = BufferRole::slice,
                         .of = static_cast<std::int32_t>(at),
                         .index = 1,
                         .spec = spec,
                         .category = Category::gradient,
                         .view_of = whole,
                         .view_offset = spec.bytes() * owner});
  }
  return known->second;
}

std::int32_t DeviceEmitter::state(std::size_t at, std::int32_t place,
                                  const UpdateOperand& operand) {
  auto [known, is_new] = parts_.try_emplace({at, place, 2 + operand.slot}, -1);
  if (!is_new) return known->second;
  const UpdatePlan& update = plan_.updates[at];
  TensorSpec spec = updated_spec(plan_.unit_request(), update, place);
  spec.dtype = operand.dtype;
  // It lies as the kernel wants it, and as other programs over it do.
  TileSetId set = value(as_index(update.weight)).stored.set;
  auto kind = as_index(kind_of(set, place));
  Layout layout = Layout::plain;
  for (std::size_t phase = 0; phase < update.phases.size(); ++phase)
    for (std::size_t use = 0; use < update.operands[phase].size(); ++use)
      if (update.operands[phase][use].slot == operand.slot)
        layout = plan_.units.updates[at][kind][phase].choice.layouts[use];
  return known->second = add({.role = BufferRole::state,
                              .of = static_cast<std::int32_t>(at),
                              .index = operand.slot,
                              .micro_batch = place,
                              .spec = spec,
                              .layout = layout,
                              .category = Category::optimizer,
                              .persistent = true});
}

/// The sum of the gradient, of which the device gets its slice. What pads the vector is zero, so
/// that norms over slices are right.
void DeviceEmitter::emit_scatter(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  auto gradient = as_index(update.gradient);
  const SharedUpdate& shared = update.shared->places[as_index(place)];
  const Moves& moves = *value(gradient).spread.moves;
  const Message& message = moves.messages[as_index(shared.message)];
  auto local = static_cast<std::uint32_t>(
      place_of(value(as_index(update.weight)).stored.set, place));
  IdFields id{.phase = 13,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = local * 4};
  std::int32_t vector = read_by(gradient, 0, value(gradient).updates, place);
  Moment start = moment_of(plan_, gradient, 0, message.start);
  start.turn.rank = kScatterRank + 1;
  if (std::int64_t tail = padding_of(at, place); tail > 0) {
    const PlannedBuffer& whole = made_.buffers[as_index(vector)];
    TensorSpec spec{{tail}, whole.spec.dtype};
    Bytes offset = whole.spec.bytes();
    std::int32_t end = add({.role = BufferRole::slice,
                            .of = static_cast<std::int32_t>(at),
                            .index = 2,
                            .spec = spec,
                            .category = Category::gradient,
                            .view_of = vector,
                            .view_offset = offset});
    Assemble clear{.shape = {tail}};
    Region all = Region::whole(spec.shape);
    PlannedTask task{.kind = WorkKind::assemble,
                     .of = update.gradient,
                     .index = static_cast<std::int32_t>(moves.steps.size()),
                     .uses = {{zeros(spec), Access::read}, {end, Access::write}}};
    add_box(clear, task, {all, all});
    task.key = add_key({clear, {spec}, Phase::forward, {}});
    add(std::move(task), start, id);
  }
  start.turn.rank += 2;
  Moment finish = moment_of(plan_, gradient, 0, message.finish);
  finish.turn.rank = kScatterRank + 5;
  std::int32_t call = calls_.of_scatter(at, shared.message);
  ++id.index;
  emit_end({call, shared.owner, true}, vector, start, id);
  ++id.index;
  emit_end({call, shared.owner, false}, vector, finish, id);
}

void DeviceEmitter::emit_gather(std::size_t at, std::int32_t place) {
  const UpdatePlan& update = plan_.updates[at];
  auto weight = as_index(update.weight);
  const SharedUpdate& shared = update.shared->places[as_index(place)];
  auto local = static_cast<std::uint32_t>(place_of(value(weight).stored.set, place));
  IdFields id{.phase = 14,
              .subject = Subject::parameter,
              .number = static_cast<std::uint32_t>(update.parameter),
              .index = 2 * local};
  std::int32_t stored = buffer_of(weight, 0, contribution_local(weight, 0, place));
  std::int32_t call = calls_.of_gather(at, shared.message);
  Moment moment = plan_.update_moments[at];
  for (bool starts : {true, false}) {
    moment.turn.rank = kSharedRank + (starts ? 1 : 3);
    emit_end({call, shared.owner, starts}, stored, moment, id);
    ++id.index;
  }
}

}  // namespace troika
