#include "lower/plan_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/names.h"
#include "ops/step_scalars.h"
#include "strategy/message_names.h"

namespace troika {
namespace {

/// Gradients of parameters are moved once, but each micro-batch writes a contribution of its own.
bool is_written_once(const OutlinedValue& value) {
  return is_made_once(value.kind) && value.kind != ValueKind::parameter_gradient;
}

}  // namespace

const Parameter& PlanNames::parameter_of(std::int32_t update) const {
  return graph_.parameters[as_index(plan_.updates[as_index(update)].parameter)];
}

std::string PlanNames::at_device(const std::string& name, DeviceId device) const {
  return plan_.has_peers() ? fmt::format("{}@{}", name, device.value) : name;
}

std::string PlanNames::tile_name(const std::string& name, TileSetId set, std::int32_t tile) const {
  return plan_.tables.tiles.set(set).count() == 1 ? name : fmt::format("{}/{}", name, tile);
}

std::string PlanNames::base_name(const OutlinedValue& value) const {
  switch (value.kind) {
    case ValueKind::tensor:
      return graph_.tensors[as_index(value.of)].name;
    case ValueKind::gradient:
      return "d " + graph_.tensors[as_index(value.of)].name;
    case ValueKind::parameter:
      return graph_.parameters[as_index(value.of)].name;
    case ValueKind::parameter_gradient:
      return "d " + graph_.parameters[as_index(value.of)].name;
    case ValueKind::norms:
      return "square_sums " + graph_.parameters[as_index(value.of)].name;
    case ValueKind::kept:
    case ValueKind::unused: {
      const Operator& op = graph_.operators[as_index(value.of)];
      const Signature& s = plan_.tables.index.signatures[as_index(value.of)];
      return fmt::format("{}{}.{}", value.kind == ValueKind::unused ? "d " : "", op.name,
                         s.slots[as_index(value.slot)].name);
    }
  }
  throw Bug("a value of no kind");
}

void PlanNames::describe(const PlannedBuffer& planned, BufferSpec& made) const {
  made.name = planned.ref.is_copy() ? fmt::format("{} as {}", made.name, to_string(planned.layout))
                                    : name_of_buffer(planned, made);
}

std::string PlanNames::name_of_buffer(const PlannedBuffer& planned, BufferSpec& made) const {
  const BufferRef& ref = planned.ref;
  switch (ref.role) {
    case BufferRole::value:
      return name_of_value(planned, made);
    case BufferRole::state:
      return name_of_state(planned, made);
    case BufferRole::slice:
      return parameter_of(ref.of).name + (ref.index == 0 ? " own" : " gradient own");
    case BufferRole::scalars:
      return at_device(scalars_name(ref.index), made.device);
    case BufferRole::control:
      return at_device(kControlName, made.device);
    case BufferRole::requests:
      return at_device("step.requests", made.device);
    case BufferRole::zero_read:
    case BufferRole::zero_tail:
    case BufferRole::zero_norms:
    case BufferRole::zero_number:
      return at_device("zeros " + to_string(planned.spec), made.device);
    case BufferRole::number:
    case BufferRole::square:
    case BufferRole::counted:
    case BufferRole::counted_norm:
      return at_device("number", made.device);
    case BufferRole::totals:
      return fmt::format("{} totals{}@{}", name_of_sum(ref.of),
                         ref.index < 0 ? "" : fmt::format("[{}]", ref.index), made.device.value);
    case BufferRole::bucket:
      return fmt::format("bucket of {} gradients@{}", plan_.buckets.at(ref.of).parts.size(),
                         made.device.value);
  }
  throw Bug("a buffer without a role");
}

std::string PlanNames::name_of_value(const PlannedBuffer& planned, BufferSpec& made) const {
  auto at = as_index(planned.ref.of);
  if (planned.tile < 0) return name_of_moved(planned, made.device);
  if (outline().values[at].kind == ValueKind::norms)
    return fmt::format("{}/{}", name_of_value_part(planned), planned.tile);
  if (plan_.distribution.values[at].stored.shared) return name_of_stored(planned, made);
  return name_of_written(planned);
}

std::string PlanNames::name_of_value_part(const PlannedBuffer& planned) const {
  const OutlinedValue& value = outline().values[as_index(planned.ref.of)];
  std::string base = base_name(value);
  return is_written_once(value) ? base : part_name(base, planned.ref.part, plan_.micro_batches());
}

std::string PlanNames::name_of_moved(const PlannedBuffer& planned, DeviceId device) const {
  const BufferRef& ref = planned.ref;
  if (planned.persistent)
    return at_device(fmt::format("zeros {} {}.{}", to_string(planned.spec), ref.of, ref.index),
                     device);
  return fmt::format("{} moved {}@{}", name_of_value_part(planned), ref.index, device.value);
}

/// Also sets the region that the buffer holds.
std::string PlanNames::name_of_stored(const PlannedBuffer& planned, BufferSpec& made) const {
  const OutlinedValue& value = outline().values[as_index(planned.ref.of)];
  const DistributedValue& own = plan_.distribution.values[as_index(planned.ref.of)];
  Region region = region_of(plan_.tables.tiles, own.stored, planned.tile, own.spec.shape);
  made.part_of = base_name(value);
  made.whole = own.spec.shape;
  made.region = region;
  if (!is_written_once(value)) shift_to_part(value, planned.ref.part, made);
  return to_string(SliceName{name_of_value_part(planned), own.spec.shape, region, made.device.value,
                             plan_.has_peers()});
}

/// A gradient may have several writers: each of its buffers is named after the slot of its writer.
std::string PlanNames::name_of_written(const PlannedBuffer& planned) const {
  const OutlinedValue& value = outline().values[as_index(planned.ref.of)];
  auto writers = static_cast<std::int32_t>(value.writers.size());
  const ValueUse& writer = value.writers[as_index(planned.contribution % writers)];
  std::string name = name_of_value_part(planned);
  if (value.kind == ValueKind::gradient || value.kind == ValueKind::parameter_gradient) {
    const Job& job = outline().jobs[as_index(writer.job)];
    const Signature& s = plan_.tables.index.signatures[as_index(job.op)];
    int slot = job.phase->uses[as_index(writer.use)].slot;
    std::int32_t part =
        value.kind == ValueKind::gradient ? planned.ref.part : planned.contribution / writers;
    name = part_name(fmt::format("d {}.{}", graph_.operators[as_index(job.op)].name,
                                 s.slots[as_index(slot)].name),
                     part, plan_.micro_batches());
  }
  return tile_name(name, plan_.distribution.jobs[as_index(writer.job)].set, planned.tile);
}

/// The host knows the whole batch: rows of the first micro-batch become those of this one.
void PlanNames::shift_to_part(const OutlinedValue& value, std::int32_t part,
                              BufferSpec& made) const {
  made.whole = graph_.tensors[as_index(value.of)].spec.shape;
  if (made.whole.rank() == 0 || plan_.micro_batches() == 1) return;
  std::int64_t rows = made.whole[0] / plan_.micro_batches() * part;
  made.region.ranges[0].begin += rows;
  made.region.ranges[0].end += rows;
}

/// Also sets the region that the buffer holds and, of a shared update, the run of its elements.
std::string PlanNames::name_of_state(const PlannedBuffer& planned, BufferSpec& made) const {
  const UpdatePlan& update = plan_.updates[as_index(planned.ref.of)];
  const Parameter& parameter = parameter_of(planned.ref.of);
  const DistributedValue& weight = plan_.distribution.values[as_index(update.weight)];
  std::int32_t place = planned.tile;
  Signature s = signature(*update.rule, std::vector{parameter.spec});
  std::string name = parameter.name + "." + s.slots[as_index(planned.ref.index)].name;
  Region region = region_of(plan_.tables.tiles, weight.stored, place, weight.spec.shape);
  std::string own =
      to_string(SliceName{name, weight.spec.shape, region, made.device.value, plan_.has_peers()});
  made.part_of = name;
  made.region = region;
  made.whole = weight.spec.shape;
  if (update.shared != nullptr) {
    std::int64_t length = planned.spec.shape.elements();
    std::int64_t begin = length * update.shared->places[as_index(place)].owner;
    made.run =
        Range{std::min(begin, region.elements()), std::min(begin + length, region.elements())};
    own += fmt::format(" from {}", begin);
  }
  return own;
}

std::string PlanNames::name_of_sum(std::int32_t sum) const {
  if (sum < 2) return sum == 0 ? "loss" : "guard";
  return "output " + graph_.outputs[as_index(sum - 2)].name;
}

std::string PlanNames::of_call(const PlannedTask& end, Collective kind) const {
  auto with_kind = [&](const std::string& name) {
    return fmt::format("{} {}", name, to_string(kind));
  };
  switch (end.call) {
    case CallKind::moves:
      return with_kind(part_name(base_name(outline().values[as_index(end.of)]), end.micro_batch,
                                 plan_.micro_batches()));
    case CallKind::scatter:
      return with_kind("d " + parameter_of(end.of).name);
    case CallKind::gather:
      return with_kind(parameter_of(end.of).name);
    case CallKind::bucket:
      return fmt::format("bucket of {} gradients", plan_.buckets.at(end.of).parts.size());
    case CallKind::totals:
      return with_kind(name_of_sum(end.of));
  }
  throw Bug("a communication of no kind");
}

std::string PlanNames::of_message(const PlannedTask& end) const {
  switch (end.call) {
    case CallKind::moves:
      return name_of_moves(end);
    case CallKind::scatter:
      return "d " + parameter_of(end.of).name;
    case CallKind::gather:
      return parameter_of(end.of).name;
    case CallKind::bucket:
      return "d " + parameter_of(plan_.buckets.at(end.of).parts[0].update).name;
    case CallKind::totals:
      return "sum of " + (end.of == 1 ? "gradients" : name_of_sum(end.of));
  }
  throw Bug("a communication of no kind");
}

/// Without a reader where it is the update, or what the host reads.
std::string PlanNames::name_of_moves(const PlannedTask& end) const {
  auto at = as_index(end.of);
  const OutlinedValue& value = outline().values[at];
  const Moves& moves = *plan_.distribution.values[at].spread.moves;
  bool once = is_made_once(value.kind);
  std::string name = base_name(value);
  if (!once) name = part_name(name, end.micro_batch, plan_.micro_batches());
  std::int32_t reader =
      moves.messages[as_index(end.index)].finish - static_cast<std::int32_t>(moves.contributions);
  if (reader < 0 || reader >= std::ssize(value.readers)) return name;
  const Job& job = outline().jobs[as_index(value.readers[as_index(reader)].job)];
  return message_name(name, graph_.operators[as_index(job.op)], job.phase->phase);
}

std::string PlanNames::of(const PlannedTask& planned, const Task& task,
                          const TaskGraph& bound) const {
  switch (planned.kind) {
    case WorkKind::phase:
      return name_of_phase(planned, task.device);
    case WorkKind::update:
      return parameter_of(planned.of).name +
             (planned.unit->key.phase == Phase::statistics_1 ? " norms" : " update");
    case WorkKind::square_sum:
      return parameter_of(planned.of).name + " square_sum";
    case WorkKind::guard:
      return "guard";
    case WorkKind::sum:
    case WorkKind::assemble:
    case WorkKind::reorder:
      return name_of_movement(planned, task, bound);
    case WorkKind::start:
      return bound[task.communication].name + " start";
    case WorkKind::finish:
      return bound[task.communication].name;
  }
  throw Bug("a task of no kind");
}

/// A fused forward unit is named after its first operator, although it stands at its last.
std::string PlanNames::name_of_phase(const PlannedTask& planned, DeviceId device) const {
  auto job = as_index(planned.of);
  auto named = job;
  if (!outline().jobs[job].backward)
    for (const ValueUse& use : planned.unit->operands) named = std::min(named, as_index(use.job));
  const Job& first = outline().jobs[named];
  std::string name = part_name(fmt::format("{} {}", graph_.operators[as_index(first.op)].name,
                                           to_string(first.phase->phase)),
                               planned.micro_batch, plan_.micro_batches());
  TileSetId set = plan_.distribution.jobs[job].set;
  PlannedDevice here(plan_, device.value);
  name = tile_name(name, set, here.tiles_here(set)[as_index(planned.index)]);
  if (!planned.unit->key.fused.empty()) name += fmt::format(" +{}", planned.unit->key.fused.size());
  return name;
}

std::string PlanNames::name_of_movement(const PlannedTask& planned, const Task& task,
                                        const TaskGraph& bound) const {
  const BufferSpec& written = bound[task.uses.back().buffer];
  if (planned.kind == WorkKind::reorder)
    return fmt::format("{} to {}", bound[task.uses.front().buffer].name, to_string(written.layout));
  std::string name = written.name;
  if (planned.of >= 0) {
    const OutlinedValue& value = outline().values[as_index(planned.of)];
    bool total = written.spec == kOneNumber;
    bool once = total || is_made_once(value.kind);
    name = once ? base_name(value)
                : part_name(base_name(value), planned.micro_batch, plan_.micro_batches());
  }
  return planned.kind == WorkKind::sum ? name + " sum" : name + " copy";
}

}  // namespace troika
