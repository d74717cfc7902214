// What a device does to bring values from their writers to their readers.
#include <algorithm>

#include "base/error.h"
#include "lower/device_emitter.h"

namespace troika {
namespace {

/// Of an operator, as far as ids count the steps of its kept values.
constexpr std::int32_t kMostSlots = 32;

/// A box counted from the begin of another one, with the whole dimensions of the value.
Region within(const Box& box, const Box& outer, const DistributedValue& value) {
  Region region = Region::whole(value.spec.shape);
  for (std::size_t at = 0; at < value.spread.frame.size(); ++at) {
    auto dim = as_index(value.spread.frame[at]);
    region.ranges[dim] = {box.begin[at] - outer.begin[at], box.end[at] - outer.begin[at]};
  }
  return region;
}

}  // namespace

void DeviceEmitter::emit_moves() {
  for (std::size_t at = 0; at < outline().values.size(); ++at) {
    if (value(at).spread.moves == nullptr) continue;
    ValueKind kind = outline().values[at].kind;
    bool once = kind == ValueKind::parameter || kind == ValueKind::parameter_gradient;
    for (std::int32_t part = 0; part < (once ? 1 : plan_.micro_batches()); ++part) {
      const Moves& moves = *value(at).spread.moves;
      auto here = as_index(device_);
      for (std::int32_t step = moves.first_step[here]; step < moves.first_step[here + 1]; ++step)
        emit_step(at, part, step);
    }
  }
}

void DeviceEmitter::emit_step(std::size_t at, std::int32_t micro_batch, std::int32_t number) {
  const Moves& moves = *value(at).spread.moves;
  const Step& step = moves.steps[as_index(number)];
  std::int32_t local = number - moves.first_step[as_index(device_)];
  Moment moment = moment_of(plan_, at, micro_batch, step.moment);
  moment.turn.rank += static_cast<std::uint32_t>(2 * moves.level[as_index(number)] + 1);
  switch (step.kind) {
    case Step::Kind::sum:
      return emit_sum({at, micro_batch, local}, step, moment);
    case Step::Kind::assemble:
      return emit_assemble({at, micro_batch, local}, step, moment);
    case Step::Kind::start:
    case Step::Kind::finish:
      return emit_message({at, micro_batch, local}, step, moment);
  }
}

IdFields DeviceEmitter::id_of(const ValueStep& step) const {
  const OutlinedValue& own = outline().values[step.value];
  IdFields id{.micro_batch = static_cast<std::uint32_t>(step.micro_batch),
              .number = static_cast<std::uint32_t>(own.of),
              .index = static_cast<std::uint32_t>(step.local)};
  // Phases behind those of operators: of the value, of its gradient, of norms.
  switch (own.kind) {
    case ValueKind::tensor:
    case ValueKind::gradient:
      id.subject = Subject::tensor;
      id.phase = own.kind == ValueKind::tensor ? 10 : 11;
      break;
    case ValueKind::parameter:
    case ValueKind::parameter_gradient:
    case ValueKind::norms:
      id.subject = Subject::parameter;
      id.phase = own.kind == ValueKind::parameter ? 8 : (own.kind == ValueKind::norms ? 9 : 10);
      break;
    case ValueKind::kept:
    case ValueKind::unused:
      id.phase = 10;
      id.index = static_cast<std::uint32_t>(step.local * kMostSlots + own.slot);
      break;
  }
  return id;
}

std::int32_t DeviceEmitter::moved(const ValueStep& step, std::int32_t buffer) {
  const Moves& moves = *value(step.value).spread.moves;
  return buffer_of(step.value, step.micro_batch,
                   buffer - moves.first_buffer[as_index(device_)]);
}

void DeviceEmitter::emit_sum(const ValueStep& at, const Step& step, const Moment& moment) {
  const Moves& moves = *value(at.value).spread.moves;
  std::int32_t out = moved(at, step.out);
  const PlannedBuffer& made = made_.buffers[as_index(out)];
  Layout layout = made.layout;
  KernelKey key{Sum{.count = step.input_count},
                std::vector(as_index(step.input_count), made.spec), Phase::forward,
                {}};
  PlannedTask task{.kind = WorkKind::sum,
                   .of = static_cast<std::int32_t>(at.value),
                   .index = at.local,
                   .micro_batch = at.micro_batch,
                   .key = add_key(std::move(key))};
  for (std::int32_t input = 0; input < step.input_count; ++input) {
    std::int32_t buffer = moves.inputs[as_index(step.first_input + input)].buffer;
    task.uses.push_back({in_layout(moved(at, buffer), layout, moment), Access::read});
  }
  task.uses.push_back({out, Access::write});
  add(std::move(task), moment, id_of(at));
}

void DeviceEmitter::emit_assemble(const ValueStep& at, const Step& step, const Moment& moment) {
  const DistributedValue& own = value(at.value);
  const Moves& moves = *own.spread.moves;
  auto box_of = [&](std::int32_t box) { return moves.boxes[as_index(box)]; };
  const PlacedBuffer& placed = moves.buffers[as_index(step.out)];
  TROIKA_CHECK(placed.box >= 0, "an assembled buffer without a box");
  std::int32_t out = moved(at, step.out);
  const Shape shape = made_.buffers[as_index(out)].spec.shape;
  Assemble op{.shape = {shape.begin(), shape.end()}, .greatest = is_greatest(at.value)};
  PlannedTask task{.kind = WorkKind::assemble,
                   .of = static_cast<std::int32_t>(at.value),
                   .index = at.local,
                   .micro_batch = at.micro_batch};
  KernelKey key{{}, {}, Phase::forward, {}};
  for (std::int32_t input = 0; input < step.input_count; ++input) {
    const StepInput& from = moves.inputs[as_index(step.first_input + input)];
    const PlacedBuffer& source = moves.buffers[as_index(from.buffer)];
    add_box(op, task,
            {within(box_of(from.box), box_of(source.box), own),
             within(box_of(from.box), box_of(placed.box), own)});
    std::int32_t buffer = in_layout(moved(at, from.buffer), Layout::plain, moment);
    key.inputs.push_back(made_.buffers[as_index(buffer)].spec);
    task.uses.push_back({buffer, Access::read});
  }
  task.uses.push_back({out, Access::write});
  key.op = std::move(op);
  task.key = add_key(std::move(key));
  add(std::move(task), moment, id_of(at));
}

bool DeviceEmitter::is_greatest(std::size_t at) const {
  const OutlinedValue& own = outline().values[at];
  if (own.writers.empty()) return false;
  const Job& job = outline().jobs[as_index(own.writers[0].job)];
  const Signature& s = plan_.tables.index.signatures[as_index(job.op)];
  int slot = job.phase->uses[as_index(own.writers[0].use)].slot;
  return s.slots[as_index(slot)].combine == Combine::max;
}

void DeviceEmitter::emit_message(const ValueStep& at, const Step& step, const Moment& moment) {
  std::int32_t buffer = moved(at, step.out);
  bool gradient = outline().values[at.value].kind == ValueKind::parameter_gradient;
  if (gradient && plan_.update_of[at.value] >= 0) {
    auto update = as_index(plan_.update_of[at.value]);
    if (plan_.bucket_of[update][as_index(step.message)].bucket >= 0) return;
    if (is_scattered(update, step.message)) return;  // emit_updates.cpp
  }
  emit_end({.call = calls_.of_moves(
                {at.value, at.micro_batch, step.message, is_greatest(at.value)}),
            .member = step.member,
            .starts = step.kind == Step::Kind::start},
           buffer, moment, id_of(at));
}

void DeviceEmitter::emit_end(const CallEnd& end, std::int32_t buffer, Moment moment, IdFields id) {
  PlannedCall& call = made_.calls[as_index(end.call)];
  call.buffers[as_index(end.member)] = buffer;
  Access access = Access::update;
  if (call.call.kind == Collective::broadcast && end.member == 0)
    access = Access::read;
  else if (end.starts && (call.call.kind == Collective::broadcast ||
                          call.call.kind == Collective::all_gather ||
                          call.call.kind == Collective::all_to_all))
    access = Access::write;
  if (!plan_.request.strategy->sync.overlap && end.starts) {
    // All members start where they finish, with the ranks that they have anyway.
    std::uint32_t rank = moment.turn.rank;
    moment = {unpack(call.finish), call.lag};
    moment.turn.rank = rank;
  }
  add({.kind = end.starts ? WorkKind::start : WorkKind::finish,
       .of = end.call,
       .call = end.call,
       .member = end.member,
       .uses = {{buffer, access}}},
      moment, id);
}

void DeviceEmitter::emit_buckets() {
  for (std::size_t at = 0; at < plan_.buckets.size(); ++at) {
    const GradientBucket& bucket = plan_.buckets[at];
    if (bucket.parts.size() < 2) continue;
    const GradientBucket::Part& first = bucket.parts[0];
    const UpdatePlan& update = plan_.updates[as_index(first.update)];
    const Moves& moves = *value(as_index(update.gradient)).spread.moves;
    const Message& message = moves.messages[as_index(first.message)];
    for (std::int32_t member = 0; member < message.members; ++member) {
      if (moves.members[as_index(message.first_member + member)].device != device_)
        continue;
      std::int32_t vector = bucket_vector(at);
      std::int32_t call = calls_.of_bucket(at);
      for (bool starts : {true, false}) {
        Moment moment = starts ? bucket.start : bucket.finish;
        moment.turn.rank = kBucketRank + (starts ? 1 : 3);
        emit_end({call, member, starts}, vector, moment,
                 {.phase = 14,
                  .subject = Subject::step,
                  .number = static_cast<std::uint32_t>(at),
                  .index = starts ? 0u : 1u});
      }
    }
  }
}

std::int32_t DeviceEmitter::bucket_vector(std::size_t bucket) {
  auto [known, is_new] = buckets_.try_emplace(static_cast<std::int32_t>(bucket), -1);
  if (is_new) {
    const GradientBucket& own = plan_.buckets[bucket];
    const UpdatePlan& update = plan_.updates[as_index(own.parts[0].update)];
    DType dtype = value(as_index(update.gradient)).spec.dtype;
    known->second = add({.role = BufferRole::bucket,
                         .of = static_cast<std::int32_t>(bucket),
                         .spec = {{own.bytes.count / size_of(dtype).count}, dtype},
                         .category = Category::gradient});
  }
  return known->second;
}

}  // namespace troika
