#include "lower/program_plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

std::uint32_t narrow(std::int64_t number) { return static_cast<std::uint32_t>(number); }

std::uint32_t operator_count(const ProgramPlan& plan) {
  return narrow(std::ssize(plan.request.graph->operators));
}

}  // namespace

const RankRange& ranks_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::parameter:
      return kStoredRanks;
    case ValueKind::parameter_gradient:
      return kGradientRanks;
    case ValueKind::norms:
      return kNormSumRanks;
    case ValueKind::tensor:
    case ValueKind::gradient:
    case ValueKind::kept:
    case ValueKind::unused:
      return kValueRanks;
  }
  throw Bug("a value of no kind");
}

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
    shape[as_index(value.spread.frame[at])] = (box.end[at] - box.begin[at]) * value.spread.unit[at];
  return shape;
}

namespace {

std::size_t kind_of(const ProgramPlan& plan, TileSetId set, std::int32_t tile) {
  return as_index(plan.tables.tiles.kind(plan.distribution.joined_kinds[as_index(set)], tile));
}

Layout layout_read(const ProgramPlan& plan, std::size_t value, std::int32_t role,
                   std::int32_t tile) {
  const Moves* moves = plan.distribution.values[value].spread.moves;
  if (moves == nullptr) return layout_written(plan, value, 0, tile);
  return layout_of(plan, value, moves->reads[as_index(role)][as_index(tile)]);
}

}  // namespace

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
  if (!job.phase->view)
    return plan.written[as_index(use.job)][as_index(use.use)][kind_of(plan, tiles.set, tile)];
  // A view lies as what it views, which must be plain under another shape.
  auto viewed = as_index(job.values[0]);
  auto shape = [&](std::size_t of, std::size_t at) {
    return shape_of_tile(plan.tables.tiles, tiles.uses[at], tile,
                         plan.distribution.values[of].spec.shape);
  };
  if (shape(viewed, 0) != shape(value, as_index(use.use))) return Layout::plain;
  return layout_read(plan, viewed, tiles.roles[0], tile);
}

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

namespace {

/// From the units of a job, which may stand for other jobs too.
void note_units(ProgramPlan& plan, std::size_t job) {
  const std::vector<KernelUnit>& kinds = plan.units.jobs[job];
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const KernelUnit& unit = kinds[kind];
    for (std::size_t at = 0; at < unit.operands.size(); ++at) {
      auto own = as_index(unit.operands[at].job), use = as_index(unit.operands[at].use);
      plan.runs_at[own] = std::max(plan.runs_at[own], job);
      const PhaseSpec& phase = *plan.distribution.outline.jobs[own].phase;
      if (phase.uses[use].access != Access::write) continue;
      std::vector<Layout>& layouts = plan.written[own][use];
      if (layouts.size() < kinds.size()) layouts.resize(kinds.size(), Layout::plain);
      layouts[kind] = unit.choice.layouts[at];
    }
  }
}

}  // namespace

std::vector<std::int32_t> note_layouts(ProgramPlan& plan, std::span<const std::int32_t> jobs) {
  const Outline& outline = plan.distribution.outline;
  plan.runs_at.resize(outline.jobs.size());
  plan.written.resize(outline.jobs.size());
  using Noted = std::pair<std::size_t, std::vector<std::vector<Layout>>>;
  std::vector<Noted> before;
  for (std::int32_t each : jobs) {
    auto job = as_index(each);
    before.emplace_back(std::exchange(plan.runs_at[job], job), std::move(plan.written[job]));
    plan.written[job].assign(outline.jobs[job].values.size(), {});
  }
  for (std::int32_t job : jobs) note_units(plan, as_index(job));
  std::vector<std::int32_t> changed;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    auto job = as_index(jobs[at]);
    if (before[at].first != plan.runs_at[job] || before[at].second != plan.written[job])
      changed.push_back(jobs[at]);
  }
  return changed;
}

Moment moment_of(const ProgramPlan& plan, std::size_t value, std::int64_t micro_batch,
                 std::int32_t moment) {
  const OutlinedValue& own = plan.distribution.outline.values[value];
  const DistributedValue& distributed = plan.distribution.values[value];
  if (own.kind == ValueKind::norms) {
    Moment made = plan.update_moments[as_index(plan.update_of[value])];
    made.turn.rank = kNormSumRanks.first;
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
  turn.rank = ranks_of(own.kind).first;
  return {turn, lag};
}

}  // namespace troika
