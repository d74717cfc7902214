#include "lower/program_plan.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/error.h"
#include "lower/place_buffers.h"

namespace troika {
namespace {

std::uint32_t narrow(std::int64_t number) { return static_cast<std::uint32_t>(number); }

std::uint32_t operator_count(const ProgramPlan& plan) {
  return narrow(std::ssize(plan.request.graph->operators));
}

/// The job of the next forward that needs the updated weight first; -1: none does.
std::int32_t first_reader(const ProgramPlan& plan, const UpdatePlan& update) {
  const Outline& outline = plan.distribution.outline;
  for (const ValueUse& use : outline.values[as_index(update.weight)].readers)
    if (!outline.jobs[as_index(use.job)].backward) return use.job;
  return -1;
}

/// The last job that reads the old weight or adds to its gradient.
std::int32_t last_user(const ProgramPlan& plan, const UpdatePlan& update) {
  const Outline& outline = plan.distribution.outline;
  std::size_t last = 0;
  for (const ValueUse& use : outline.values[as_index(update.weight)].readers)
    last = std::max(last, plan.runs_at[as_index(use.job)]);
  for (const ValueUse& use : outline.values[as_index(update.gradient)].writers)
    last = std::max(last, plan.runs_at[as_index(use.job)]);
  return static_cast<std::int32_t>(last);
}

Moment update_moment(const ProgramPlan& plan, const UpdatePlan& update) {
  const Sync& sync = plan.request.strategy->sync;
  std::int32_t reader = first_reader(plan, update);
  auto number = narrow(update.parameter);
  TurnFields turn;
  std::int32_t lag = 0;
  if (update.waits && sync.overlap && sync.carry_updates && reader >= 0) {
    turn = turn_of(plan, as_index(reader), 0, Side::before);
    lag = 1;
  } else if (!plan.has_peers() && !plan.request.optimizer->watches_gradient()) {
    auto last = as_index(last_user(plan, update));
    turn = turn_of(plan, last, plan.micro_batches() - 1, Side::after);
  } else {
    // In the order in which the next step needs them.
    std::uint32_t op = operator_count(plan);
    if (reader >= 0) op = narrow(plan.distribution.outline.jobs[as_index(reader)].op);
    turn = end_of_step(plan, 1 + op);
  }
  turn.number = number;
  turn.rank = kUpdateRank;
  return {turn, lag};
}

/// Of a message that sums a gradient: the buffer of any member, as it lies.
Bytes gradient_bytes(const ProgramPlan& plan, std::size_t update, const Message& message) {
  auto value = as_index(plan.updates[update].gradient);
  const DistributedValue& gradient = plan.distribution.values[value];
  const Moves& moves = *gradient.spread.moves;
  std::int32_t buffer = moves.members[as_index(message.first_member)].buffer;
  return stored_bytes(layout_of(plan, value, buffer), shape_of(gradient, buffer),
                      gradient.spec.dtype);
}

}  // namespace

TurnFields turn_of(const ProgramPlan& plan, std::size_t job, std::int64_t micro_batch, Side side) {
  const Job& own = plan.distribution.outline.jobs[job];
  std::uint32_t op = narrow(own.op);
  return {.slot = narrow(2 * micro_batch + (own.backward ? 1 : 0)),
          .place = own.backward ? operator_count(plan) - 1 - op : op,
          .phase = narrow(own.order),
          .side = side};
}

TurnFields end_of_forward(const ProgramPlan& plan, std::int64_t micro_batch) {
  return {.slot = narrow(2 * micro_batch), .place = operator_count(plan), .side = Side::at};
}

TurnFields end_of_step(const ProgramPlan& plan, std::uint32_t place) {
  return {.slot = narrow(2 * plan.micro_batches()), .place = place, .side = Side::at};
}

Shape shape_of(const DistributedValue& value, std::int32_t buffer) {
  const Moves& moves = *value.spread.moves;
  const PlacedBuffer& placed = moves.buffers[as_index(buffer)];
  if (placed.box < 0) return Shape{placed.elements * value.spread.scale};
  const Box& box = moves.boxes[as_index(placed.box)];
  Shape shape = value.spec.shape;
  for (std::size_t at = 0; at < value.spread.frame.size(); ++at)
    shape[as_index(value.spread.frame[at])] = box.end[at] - box.begin[at];
  return shape;
}

namespace {

std::size_t kind_of(const ProgramPlan& plan, TileSetId set, std::int32_t tile) {
  return as_index(plan.tables.tiles.kind(plan.distribution.kinds_of(set).kinds, tile));
}

Layout layout_read(const ProgramPlan& plan, std::size_t value, std::int32_t role,
                   std::int32_t tile);

/// What a tile of a writer leaves, or what is stored.
Layout layout_written(const ProgramPlan& plan, std::size_t value, std::size_t writer,
                      std::int32_t tile) {
  const DistributedValue& own = plan.distribution.values[value];
  const OutlinedValue& outlined = plan.distribution.outline.values[value];
  if (outlined.kind == ValueKind::norms) return Layout::plain;
  if (own.stored.shared)
    return outlined.kind == ValueKind::parameter
               ? plan.units.stored[value][kind_of(plan, own.stored.set, tile)]
               : Layout::plain;
  writer %= outlined.writers.size();
  const ValueUse& use = outlined.writers[writer];
  const Job& job = plan.distribution.outline.jobs[as_index(use.job)];
  const JobTiles& tiles = plan.distribution.jobs[as_index(use.job)];
  if (!job.phase->view) return plan.written[value][writer][kind_of(plan, tiles.set, tile)];
  // A view lies as what it views, which must be plain under another shape.
  auto viewed = as_index(job.values[0]);
  auto shape = [&](std::size_t of, std::size_t at) {
    return region_of(plan.tables.tiles, tiles.uses[at], tile,
                     plan.distribution.values[of].spec.shape)
        .shape();
  };
  if (shape(viewed, 0) != shape(value, as_index(use.use))) return Layout::plain;
  return layout_read(plan, viewed, tiles.roles[0], tile);
}

Layout layout_read(const ProgramPlan& plan, std::size_t value, std::int32_t role,
                   std::int32_t tile) {
  const Moves* moves = plan.distribution.values[value].spread.moves;
  if (moves == nullptr) return layout_written(plan, value, 0, tile);
  return layout_of(plan, value, moves->reads[as_index(role)][as_index(tile)]);
}

}  // namespace

Layout layout_of(const ProgramPlan& plan, std::size_t value, std::int32_t buffer) {
  const Moves& moves = *plan.distribution.values[value].spread.moves;
  const PlacedBuffer& placed = moves.buffers[as_index(buffer)];
  if (placed.kind == PlacedBuffer::Kind::written)
    return layout_written(plan, value, as_index(placed.origin), placed.tile);
  if (std::int32_t message = moves.message[as_index(buffer)]; message >= 0) {
    const Message& brought = moves.messages[as_index(message)];
    if (brought.kind == Collective::broadcast)
      return layout_of(plan, value, moves.members[as_index(brought.first_member)].buffer);
  }
  std::int32_t maker = moves.maker[as_index(buffer)];
  if (maker < 0 || moves.steps[as_index(maker)].kind != Step::Kind::sum) return Layout::plain;
  // Slices of a gradient are parts of its memory.
  bool sliced = plan.request.strategy->sync.sliced_update &&
                plan.distribution.outline.values[value].kind == ValueKind::parameter_gradient;
  if (sliced) return Layout::plain;
  return layout_of(plan, value,
                   moves.inputs[as_index(moves.steps[as_index(maker)].first_input)].buffer);
}

void note_layouts(ProgramPlan& plan) {
  const Outline& outline = plan.distribution.outline;
  for (std::size_t job = 0; job < outline.jobs.size(); ++job) plan.runs_at.push_back(job);
  for (std::size_t job = 0; job < outline.jobs.size(); ++job)
    for (const KernelUnit& unit : plan.units.jobs[job])
      for (const ValueUse& use : unit.operands)
        plan.runs_at[as_index(use.job)] = std::max(plan.runs_at[as_index(use.job)], job);
  plan.written.resize(outline.values.size());
  for (std::size_t at = 0; at < outline.values.size(); ++at)
    plan.written[at].resize(outline.values[at].writers.size());
  for (const std::vector<KernelUnit>& kinds : plan.units.jobs) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const KernelUnit& unit = kinds[kind];
      for (std::size_t at = 0; at < unit.operands.size(); ++at) {
        auto job = as_index(unit.operands[at].job), use = as_index(unit.operands[at].use);
        if (outline.jobs[job].phase->uses[use].access != Access::write) continue;
        std::vector<Layout>& layouts =
            plan.written[as_index(outline.jobs[job].values[use])]
                        [as_index(plan.distribution.jobs[job].roles[use])];
        if (layouts.size() < kinds.size()) layouts.resize(kinds.size(), Layout::plain);
        layouts[kind] = unit.choice.layouts[at];
      }
    }
  }
}

void plan_moments(ProgramPlan& plan) {
  plan.update_of.assign(plan.distribution.values.size(), -1);
  for (std::size_t at = 0; at < plan.updates.size(); ++at)
    for (std::int32_t value : {plan.updates[at].gradient, plan.updates[at].norms})
      if (value >= 0) plan.update_of[as_index(value)] = static_cast<std::int32_t>(at);
  for (const UpdatePlan& update : plan.updates)
    plan.update_moments.push_back(update_moment(plan, update));
  if (plan.request.optimizer == nullptr) return;
  // One device knows its loss at once; several wait for it as late as they can.
  bool at_end = plan.has_peers() || plan.request.optimizer->watches_gradient();
  plan.guard.turn = at_end ? end_of_step(plan, 0) : end_of_forward(plan, plan.micro_batches() - 1);
  plan.guard.turn.side = Side::after;
}

Moment moment_of(const ProgramPlan& plan, std::size_t value, std::int64_t micro_batch,
                 std::int32_t moment) {
  const OutlinedValue& own = plan.distribution.outline.values[value];
  const DistributedValue& distributed = plan.distribution.values[value];
  if (own.kind == ValueKind::norms) {
    Moment made = plan.update_moments[as_index(plan.update_of[value])];
    made.turn.rank = kNormsRank;
    return made;
  }
  bool over_batch = own.kind == ValueKind::parameter_gradient;
  auto writers = static_cast<std::int32_t>(own.writers.size());
  auto contributions = static_cast<std::int32_t>(distributed.spread.moves->contributions);
  TurnFields turn;
  std::int32_t lag = 0;
  // What is stored is sent where its first reader is: by then it is updated.
  if (distributed.stored.shared) moment = std::max(moment, contributions);
  if (moment < contributions) {
    const ValueUse& writer = own.writers[as_index(moment % writers)];
    std::int64_t part = over_batch ? moment / writers : micro_batch;
    turn = turn_of(plan, plan.runs_at[as_index(writer.job)], part, Side::after);
  } else if (std::int32_t reader = moment - contributions; reader == distributed.updates) {
    const Moment& update = plan.update_moments[as_index(plan.update_of[value])];
    turn = update.turn;
    lag = update.lag;
    if (plan.request.optimizer->watches_gradient()) {
      // The guard reads all gradients before the first update.
      turn = end_of_step(plan, 0);
      turn.side = Side::before;
      lag = 0;
    }
  } else if (reader == distributed.held) {
    turn = end_of_forward(plan, micro_batch);
  } else {
    const ValueUse& use = own.readers[as_index(reader)];
    turn = turn_of(plan, as_index(use.job), micro_batch, Side::before);
  }
  turn.number = narrow(own.of);
  turn.rank = own.kind == ValueKind::parameter ? kStoredRank : 0;
  return {turn, lag};
}

namespace {

/// Parameters in the order in which backward finishes their gradients, in groups up to the
/// strategy's size. Whole parameters count, so that groups do not depend on how these are split.
std::vector<std::vector<std::size_t>> groups_of(const ProgramPlan& plan) {
  std::vector<std::size_t> order(plan.updates.size());
  for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
  auto done = [&](std::size_t at) { return last_user(plan, plan.updates[at]); };
  std::ranges::stable_sort(order, {}, done);
  std::vector<std::vector<std::size_t>> groups;
  Bytes bytes;
  for (std::size_t at : order) {
    auto parameter = as_index(plan.updates[at].parameter);
    Bytes own = aligned(plan.request.graph->parameters[parameter].spec.bytes());
    if (groups.empty() || bytes + own > plan.request.strategy->sync.bucket) {
      groups.emplace_back();
      bytes = {};
    }
    groups.back().push_back(at);
    bytes += own;
  }
  return groups;
}

/// A sum of a gradient that may travel with others: whole, in place, for the update alone.
bool can_join(const ProgramPlan& plan, const UpdatePlan& update, const Message& message) {
  const DistributedValue& gradient = plan.distribution.values[as_index(update.gradient)];
  auto contributions = static_cast<std::int32_t>(gradient.spread.moves->contributions);
  return update.shared == nullptr && message.kind == Collective::all_reduce &&
         message.finish == contributions + gradient.updates;
}

/// Messages that can be one: between the same devices, of one element type, at one lag.
using BucketKey = std::tuple<std::vector<std::int32_t>, DType, std::int32_t>;
using OpenBuckets = std::map<BucketKey, std::size_t>;

void join_bucket(ProgramPlan& plan, std::size_t update, std::size_t index, OpenBuckets& open) {
  auto value = as_index(plan.updates[update].gradient);
  const DistributedValue& gradient = plan.distribution.values[value];
  const Moves& moves = *gradient.spread.moves;
  const Message& message = moves.messages[index];
  Moment start = moment_of(plan, value, 0, message.start);
  Moment finish = moment_of(plan, value, 0, message.finish);
  std::vector<std::int32_t> devices;
  for (std::int32_t member = 0; member < message.members; ++member)
    devices.push_back(moves.members[as_index(message.first_member + member)].device);
  auto [found, is_new] =
      open.try_emplace({std::move(devices), gradient.spec.dtype, finish.lag}, plan.buckets.size());
  if (is_new) plan.buckets.push_back({.start = start, .finish = finish});
  GradientBucket& bucket = plan.buckets[found->second];
  plan.bucket_of[update][index] = {static_cast<std::int32_t>(found->second),
                                   static_cast<std::int32_t>(bucket.parts.size())};
  bucket.parts.push_back(
      {static_cast<std::int32_t>(update), static_cast<std::int32_t>(index), bucket.bytes});
  bucket.bytes += aligned(gradient_bytes(plan, update, message));
  if (pack(bucket.start.turn) < pack(start.turn)) bucket.start = start;
  if (pack(finish.turn) < pack(bucket.finish.turn)) bucket.finish = finish;
}

}  // namespace

void plan_buckets(ProgramPlan& plan) {
  auto messages = [&](std::size_t update) -> std::span<const Message> {
    const Moves* moves =
        plan.distribution.values[as_index(plan.updates[update].gradient)].spread.moves;
    return moves == nullptr ? std::span<const Message>{} : moves->messages;
  };
  for (std::size_t at = 0; at < plan.updates.size(); ++at)
    plan.bucket_of.emplace_back(messages(at).size());
  for (const std::vector<std::size_t>& group : groups_of(plan)) {
    OpenBuckets open;
    for (std::size_t at : group)
      for (std::size_t index = 0; index < messages(at).size(); ++index)
        if (can_join(plan, plan.updates[at], messages(at)[index]))
          join_bucket(plan, at, index, open);
  }
  // One gradient alone travels as it is.
  for (std::vector<BucketPart>& parts : plan.bucket_of)
    for (BucketPart& part : parts)
      if (part.bucket >= 0 && plan.buckets[as_index(part.bucket)].parts.size() == 1) part = {};
}

}  // namespace troika
