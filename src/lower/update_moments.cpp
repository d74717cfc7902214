#include "lower/update_moments.h"

#include <algorithm>

namespace troika {
namespace {

/// The job of the next forward that needs the updated weight first; -1: none does.
std::int32_t first_reader(const ProgramPlan& plan, const UpdatePlan& update) {
  const Outline& outline = plan.distribution.outline;
  for (const ValueUse& use : outline.values[as_index(update.weight)].readers)
    if (!outline.jobs[as_index(use.job)].backward) return use.job;
  return -1;
}

/// At the end of the step, in the order in which the next step needs the weights.
TurnFields turn_at_end(const ProgramPlan& plan, std::int32_t reader) {
  const Outline& outline = plan.distribution.outline;
  std::int64_t op =
      reader >= 0 ? outline.jobs[as_index(reader)].op : std::ssize(plan.request.graph->operators);
  return end_of_step(plan, static_cast<std::uint32_t>(1 + op));
}

Moment update_moment(const ProgramPlan& plan, const UpdatePlan& update) {
  std::int32_t reader = first_reader(plan, update);
  Moment made;
  if (!why_not_carried(plan, update)) {
    made = {turn_of(plan, as_index(reader), 0, Side::before), 1};
  } else if (!plan.has_peers() && !plan.request.optimizer->watches_gradient()) {
    made.turn = turn_of(plan, last_user(plan, update), plan.micro_batches() - 1, Side::after);
  } else {
    made.turn = turn_at_end(plan, reader);
  }
  made.turn.number = static_cast<std::uint32_t>(update.parameter);
  made.turn.rank = kNormRanks.first;
  return made;
}

}  // namespace

std::size_t last_user(const ProgramPlan& plan, const UpdatePlan& update) {
  const Outline& outline = plan.distribution.outline;
  std::size_t last = 0;
  for (const ValueUse& use : outline.values[as_index(update.weight)].readers)
    last = std::max(last, plan.runs_at[as_index(use.job)]);
  for (const ValueUse& use : outline.values[as_index(update.gradient)].writers)
    last = std::max(last, plan.runs_at[as_index(use.job)]);
  return last;
}

std::optional<std::string_view> why_not_carried(const ProgramPlan& plan, const UpdatePlan& update) {
  const Sync& sync = plan.request.strategy->sync;
  if (!sync.overlap) return "'overlap' is off";
  if (!sync.carry_updates) return "'carry_updates' is off";
  if (!update.waits) return "no message brings the gradient";
  if (first_reader(plan, update) < 0) return "not read by the forward pass";
  return std::nullopt;
}

std::vector<std::int32_t> plan_moments(ProgramPlan& plan) {
  const Outline& outline = plan.distribution.outline;
  plan.update_of.assign(outline.values.size(), -1);
  plan.update_moments.resize(plan.updates.size());
  std::vector<std::int32_t> changed;
  for (std::size_t at = 0; at < plan.updates.size(); ++at) {
    const UpdatePlan& update = plan.updates[at];
    for (std::int32_t value : {update.gradient, outline.norms[as_index(update.parameter)]})
      if (value >= 0) plan.update_of[as_index(value)] = static_cast<std::int32_t>(at);
    Moment made = update_moment(plan, update);
    if (made != plan.update_moments[at]) changed.push_back(static_cast<std::int32_t>(at));
    plan.update_moments[at] = made;
  }
  if (plan.request.optimizer == nullptr) return changed;
  // One device knows its loss at once; several wait for it as late as they can.
  bool at_end = plan.has_peers() || plan.request.optimizer->watches_gradient();
  plan.guard.turn = at_end ? end_of_step(plan, 0) : end_of_forward(plan, plan.micro_batches() - 1);
  plan.guard.turn.side = Side::after;
  return changed;
}

}  // namespace troika
