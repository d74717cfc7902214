// What a device does to bring values from their writers to their readers.
#include <algorithm>

#include "base/error.h"
#include "lower/device_emitter.h"
#include "lower/planned_calls.h"

namespace troika {
namespace {

/// Of an operator, as far as ids count the steps of its kept values.
constexpr std::int32_t kMostSlots = 32;

/// A box counted from the begin of another one, with the whole dimensions of the value. Fills a
/// region that was used before, to save its allocation.
void set_within(Region& region, const Box& box, const Box& outer, const DistributedValue& value) {
  const Shape& shape = value.spec.shape;
  region.ranges.resize(shape.rank());
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) region.ranges[dim] = {0, shape[dim]};
  for (std::size_t at = 0; at < value.spread.frame.size(); ++at) {
    std::int64_t unit = value.spread.unit[at];
    region.ranges[as_index(value.spread.frame[at])] = {(box.begin[at] - outer.begin[at]) * unit,
                                                       (box.end[at] - outer.begin[at]) * unit};
  }
}

}  // namespace

const Fragment& DeviceEmitter::emit_value(std::size_t at) {
  fragment_.clear();
  const Moves* moves = value(at).spread.moves;
  if (moves == nullptr) return fragment_;
  // Norms and stored parameters are moved once a step, gradients of parameters after the last
  // micro-batch.
  bool once = is_made_once(outline().values[at].kind);
  std::int32_t first = moves->first_step[as_index(here_.number())];
  std::int32_t last = moves->first_step[as_index(here_.number()) + 1];
  if (first == last) return fragment_;
  bool greatest = moves->assembles && is_greatest(plan_, at);
  const RankRange& ranks = ranks_of(outline().values[at].kind);
  for (std::int32_t part = 0; part < (once ? 1 : plan_.micro_batches()); ++part) {
    std::int32_t known = -1;
    Moment moment;
    for (std::int32_t number = first; number < last; ++number) {
      const Step& step = moves->steps[as_index(number)];
      // Mostly several steps have one moment.
      if (step.moment != known) moment = moment_of(plan_, at, part, known = step.moment);
      Moment own = moment;
      own.turn.rank = rank_in(ranks, 2 * as_index(moves->level[as_index(number)]) + 1);
      emit_step_of({at, part, number - first, greatest}, step, own);
    }
  }
  return fragment_;
}

void DeviceEmitter::emit_step_of(const ValueStep& at, const Step& step, Moment moment) {
  switch (step.kind) {
    case Step::Kind::sum:
      return emit_sum(at, step, moment);
    case Step::Kind::assemble:
      return emit_assemble(at, step, moment);
    case Step::Kind::start:
    case Step::Kind::finish:
      return emit_message(at, step, moment);
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

BufferRef DeviceEmitter::moved(const ValueStep& step, std::int32_t buffer) const {
  return here_.buffer(step.value, step.micro_batch, buffer);
}

void DeviceEmitter::emit_sum(const ValueStep& at, const Step& step, const Moment& moment) {
  const Moves& moves = *value(at.value).spread.moves;
  BufferRef out = moved(at, step.out);
  Layout layout = here_.layout_of(out);
  PlannedTask task =
      begin(WorkKind::sum, static_cast<std::int32_t>(at.value), at.local, at.micro_batch);
  for (std::int32_t input = 0; input < step.input_count; ++input) {
    std::int32_t buffer = moves.inputs[as_index(step.first_input + input)].buffer;
    use(in_layout(moved(at, buffer), layout, moment), Access::read);
  }
  use(out, Access::write);
  KernelKey key{Sum{.count = step.input_count},
                std::vector(as_index(step.input_count), here_.spec_of(out)),
                Phase::forward,
                {}};
  add_movement(task, std::move(key), moment, id_of(at));
}

void DeviceEmitter::emit_assemble(const ValueStep& at, const Step& step, const Moment& moment) {
  const DistributedValue& own = value(at.value);
  const Moves& moves = *own.spread.moves;
  auto box_of = [&](std::int32_t box) -> const Box& { return moves.boxes[as_index(box)]; };
  const PlacedBuffer& placed = moves.buffers[as_index(step.out)];
  TROIKA_CHECK(placed.box >= 0, "an assembled buffer without a box");
  BufferRef out = moved(at, step.out);
  const Shape shape = shape_of(own, step.out);
  Assemble op{
      .shape = {shape.begin(), shape.end()}, .greatest = at.greatest, .layered = step.layered};
  op.boxes.reserve(2 * as_index(step.input_count) * shape.rank());
  PlannedTask task =
      begin(WorkKind::assemble, static_cast<std::int32_t>(at.value), at.local, at.micro_batch);
  KernelKey key{{}, {}, Phase::forward, {}};
  key.inputs.reserve(as_index(step.input_count));
  for (std::int32_t input = 0; input < step.input_count; ++input) {
    const StepInput& from = moves.inputs[as_index(step.first_input + input)];
    const PlacedBuffer& source = moves.buffers[as_index(from.buffer)];
    set_within(box_.from, box_of(from.box), box_of(source.box), own);
    set_within(box_.to, box_of(from.box), box_of(placed.box), own);
    add_box(op, task, box_);
    key.inputs.push_back({shape_of(own, from.buffer), own.spec.dtype});
    use(in_layout(moved(at, from.buffer), Layout::plain, moment), Access::read);
  }
  use(out, Access::write);
  key.op = std::move(op);
  add_movement(task, std::move(key), moment, id_of(at));
}

void DeviceEmitter::emit_message(const ValueStep& at, const Step& step, const Moment& moment) {
  bool gradient = outline().values[at.value].kind == ValueKind::parameter_gradient;
  if (gradient && plan_.update_of[at.value] >= 0) {
    auto update = as_index(plan_.update_of[at.value]);
    if (plan_.bucket_of[update][as_index(step.message)].bucket >= 0) return;
    if (here_.is_scattered(update, step.message)) return;  // emit_updates.cpp
  }
  emit_end({.call = CallKind::moves,
            .of = static_cast<std::int32_t>(at.value),
            .micro_batch = at.micro_batch,
            .message = step.message,
            .member = step.member,
            .starts = step.kind == Step::Kind::start},
           moved(at, step.out), moment, id_of(at));
}

}  // namespace troika
