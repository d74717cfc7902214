#include "lower/planned_calls.h"

#include <numeric>

#include "base/error.h"

namespace troika {
namespace {

const Moves& gradient_moves(const ProgramPlan& plan, std::size_t update) {
  return *plan.distribution.values[as_index(plan.updates[update].gradient)].spread.moves;
}

/// The slices of a parameter that its owners update.
void fill_slices(const ProgramPlan& plan, const PlannedTask& end, PlannedCall& made) {
  const UpdatePlan& own = plan.updates[as_index(end.of)];
  const DistributedValue& weight = plan.distribution.values[as_index(own.weight)];
  std::int32_t place = own.shared->place_of[as_index(end.index)];
  std::int64_t owners = own.shared->places[as_index(place)].owners;
  std::int64_t length = slice_length(
      shape_of_tile(plan.tables.tiles, weight.stored, place, weight.spec.shape).elements(), owners);
  for (std::int64_t owner = 0; owner < owners; ++owner)
    made.call.ranges.push_back({owner * length, (owner + 1) * length});
  made.call.count = length * owners;
}

void fill_message(const ProgramPlan& plan, const PlannedTask& end, PlannedCall& made) {
  const DistributedValue& value = plan.distribution.values[as_index(end.of)];
  const Moves& moves = *value.spread.moves;
  const Message& message = moves.messages[as_index(end.index)];
  made.rule = is_greatest(plan, as_index(end.of)) ? CombineRule::max : CombineRule::sum;
  made.call.count = message.elements * value.spread.scale;
  for (std::int32_t member = 0; message.first_range >= 0 && member < message.members; ++member) {
    Range range = moves.ranges[as_index(message.first_range + member)];
    made.call.ranges.push_back({range.begin * value.spread.scale, range.end * value.spread.scale});
  }
}

}  // namespace

bool is_greatest(const ProgramPlan& plan, std::size_t value) {
  const Outline& outline = plan.distribution.outline;
  const OutlinedValue& own = outline.values[value];
  if (own.writers.empty()) return false;
  const Job& job = outline.jobs[as_index(own.writers[0].job)];
  const Signature& s = plan.tables.index.signatures[as_index(job.op)];
  int slot = job.phase->uses[as_index(own.writers[0].use)].slot;
  return s.slots[as_index(slot)].combine == Combine::max;
}

Moment finish_of_totals(const ProgramPlan& plan, std::int32_t sum) {
  if (sum < 2) {
    Moment finish = plan.guard;
    finish.turn.number = sum == 0 ? 2 : 1;
    finish.turn.rank = 0x101;
    return finish;
  }
  Moment finish{end_of_forward(plan, plan.micro_batches() - 1)};
  finish.turn.number = static_cast<std::uint32_t>(0x100 + sum - 2);
  finish.turn.rank = kOutputSumRanks.end + 0x101;
  return finish;
}

CallMessage message_of(const ProgramPlan& plan, const PlannedTask& end) {
  switch (end.call) {
    case CallKind::moves:
      return {plan.distribution.values[as_index(end.of)].spread.moves, end.index};
    case CallKind::scatter:
    case CallKind::gather:
      return {&gradient_moves(plan, as_index(end.of)), end.index};
    case CallKind::bucket: {
      const GradientBucket::Part& first = plan.buckets.at(end.of).parts[0];
      return {&gradient_moves(plan, as_index(first.update)), first.message};
    }
    case CallKind::totals:
      return {};
  }
  throw Bug("a communication of no kind");
}

Collective kind_of(const ProgramPlan& plan, const PlannedTask& end) {
  switch (end.call) {
    case CallKind::moves: {
      CallMessage of = message_of(plan, end);
      return of.moves->messages[as_index(of.message)].kind;
    }
    case CallKind::scatter:
      return Collective::reduce_scatter;
    case CallKind::gather:
      return Collective::all_gather;
    case CallKind::bucket:
    case CallKind::totals:
      return Collective::all_reduce;
  }
  throw Bug("a communication of no kind");
}

Moment finish_of(const ProgramPlan& plan, const PlannedTask& end) {
  auto of = as_index(end.of);
  switch (end.call) {
    case CallKind::moves: {
      const Moves& moves = *plan.distribution.values[of].spread.moves;
      return moment_of(plan, of, end.micro_batch, moves.messages[as_index(end.index)].finish);
    }
    case CallKind::scatter:
      // A guard that reads the gradient needs it before the update does.
      return moment_of(plan, as_index(plan.updates[of].gradient), 0,
                       gradient_moves(plan, of).messages[as_index(end.index)].finish);
    case CallKind::gather:
      return plan.update_moments[of];
    case CallKind::bucket:
      return plan.buckets.at(end.of).finish;
    case CallKind::totals:
      return finish_of_totals(plan, end.of);
  }
  throw Bug("a communication of no kind");
}

DType dtype_of(const ProgramPlan& plan, const PlannedTask& end) {
  const std::vector<DistributedValue>& values = plan.distribution.values;
  switch (end.call) {
    case CallKind::moves:
      return values[as_index(end.of)].spec.dtype;
    case CallKind::scatter:
    case CallKind::gather:
      return values[as_index(plan.updates[as_index(end.of)].weight)].spec.dtype;
    case CallKind::bucket: {
      std::int32_t first = plan.buckets.at(end.of).parts[0].update;
      return values[as_index(plan.updates[as_index(first)].gradient)].spec.dtype;
    }
    case CallKind::totals:
      return DType::f64;
  }
  throw Bug("a communication of no kind");
}

PlannedCall describe_call(const ProgramPlan& plan, const PlannedTask& end) {
  PlannedCall made{.call = {.kind = kind_of(plan, end)}, .dtype = dtype_of(plan, end)};
  if (CallMessage of = message_of(plan, end); of.moves != nullptr) {
    const Message& message = of.moves->messages[as_index(of.message)];
    for (std::int32_t member = 0; member < message.members; ++member)
      made.devices.push_back(of.moves->members[as_index(message.first_member + member)].device);
  } else {
    made.devices.resize(plan.request.machine->devices.size());
    std::iota(made.devices.begin(), made.devices.end(), 0);
  }
  switch (end.call) {
    case CallKind::moves:
      fill_message(plan, end, made);
      break;
    case CallKind::scatter:
    case CallKind::gather:
      fill_slices(plan, end, made);
      break;
    case CallKind::bucket:
      made.call.count = plan.buckets.at(end.of).bytes.count / size_of(made.dtype).count;
      break;
    case CallKind::totals:
      made.call.count = numbers_of_totals(end.of);
      break;
  }
  made.call.members = static_cast<int>(made.devices.size());
  if (made.call.ranges.empty()) made.call.ranges.resize(made.devices.size());
  if (made.call.kind == Collective::all_reduce || made.call.kind == Collective::reduce_scatter)
    made.call.order =
        plan.request.strategy->sync.fixed_order ? CombineOrder::tree : CombineOrder::any;
  return made;
}

}  // namespace troika
