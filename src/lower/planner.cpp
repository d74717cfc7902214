#include "lower/planner.h"

#include <algorithm>

#include "base/error.h"
#include "lower/decide.h"
#include "lower/unit_changes.h"
#include "strategy/strategy_change.h"
#include "strategy/tiles.h"

namespace troika {
Planner::Planner(const LowerRequest& request, const KernelTable& table)
    : table_(table),
      strategy_(*request.strategy),
      request_(request),
      tables_(*request.graph, *request.machine) {
  request_.strategy = &strategy_;
}

std::optional<PlanRefusal> Planner::plan() {
  if (auto reason = why_no_plan(request_)) return Infeasible{*reason};
  before_.reset();
  chooser_.reset();
  try {
    return plan_from_scratch();
  } catch (const OutOfIds& error) {
    return Infeasible{error.what()};
  }
}

std::optional<PlanRefusal> Planner::plan_from_scratch() {
  plan_.emplace(ProgramPlan{request_, tables_, distribute(request_, tables_)});
  const Outline& outline = plan_->distribution.outline;
  if (auto reason = why_out_of_ids(
          {.phases = std::ssize(outline.jobs), .values = std::ssize(outline.values)}))
    return Infeasible{*reason};
  plan_->updates = plan_updates(request_, plan_->distribution, tables_);
  std::optional<KernelUnits> units = troika::decide_units(*plan_, table_);
  if (!units) return MissingRows{rows_lacking(request_, table_)};
  plan_->units = std::move(*units);
  settle(*plan_);
  // Kept from an earlier plan: others may refer to it, and the new plan lies where the old one was.
  if (!folding_) folding_.emplace(*plan_, table_);
  folding_->fold();
  if (!folding_->missing().empty()) return MissingRows{folding_->missing()};
  return std::nullopt;
}

std::optional<PlanRefusal> Planner::change(std::span<const SplitChange> changes) {
  if (changes.empty()) {
    before_.emplace();
    return std::nullopt;
  }
  std::vector<std::int32_t> operators;
  for (const SplitChange& change : changes) operators.push_back(change.op);
  std::vector<FormerSplit> before = set_splits(changes);
  if (auto reason =
          why_change_infeasible({strategy_, operators}, tables_.index, *request_.machine)) {
    restore(before);
    return Infeasible{*reason};
  }
  try {
    if (follow(operators)) {
      before_ = std::move(before);
      return std::nullopt;
    }
    return refuse(before, missing_rows());
  } catch (const OutOfIds& error) {
    return refuse(before, Infeasible{error.what()});
  } catch (const Error&) {  // no kernel for some task
    refuse(before, MissingRows{});
    throw;
  }
}

/// From scratch, since the change may have stopped half-way.
PlanRefusal Planner::refuse(const std::vector<FormerSplit>& before, PlanRefusal reason) {
  restore(before);
  std::optional<std::vector<FormerSplit>> last = std::move(before_);
  TROIKA_CHECK(!plan().has_value(), "undoing a change of splits failed");
  before_ = std::move(last);
  return reason;
}

void Planner::undo() {
  TROIKA_CHECK(before_.has_value(), "there is no change to undo");
  std::vector<FormerSplit> before = std::move(*before_);
  before_.reset();
  if (before.empty()) return;
  std::vector<std::int32_t> operators;
  for (const FormerSplit& former : before) operators.push_back(former.op);
  restore(before);
  TROIKA_CHECK(follow(operators), "undoing a change of splits failed");
}

std::vector<Planner::FormerSplit> Planner::set_splits(std::span<const SplitChange> changes) {
  std::vector<FormerSplit> before;
  for (const SplitChange& change : changes) {
    const std::string& name = request_.graph->operators[as_index(change.op)].name;
    auto known = strategy_.splits.find(name);
    before.push_back(
        {change.op, known == strategy_.splits.end() ? std::nullopt : std::optional(known->second)});
    strategy_.splits[name] = change.split;
  }
  // An operator may be listed twice: its first split is restored last.
  std::ranges::reverse(before);
  return before;
}

void Planner::restore(const std::vector<FormerSplit>& before) {
  for (const FormerSplit& former : before) {
    const std::string& name = request_.graph->operators[as_index(former.op)].name;
    if (former.split)
      strategy_.splits[name] = *former.split;
    else
      strategy_.splits.erase(name);
  }
}

bool Planner::follow(const std::vector<std::int32_t>& operators) {
  Touched touched = change_splits(*plan_, tables_, operators);
  std::vector<std::int32_t> decided;
  if (!decide_units(touched, decided)) return false;
  settle(*plan_, touched, decided);
  folding_->fold_again(std::move(touched));
  return folding_->missing().empty();
}

bool Planner::decide_units(Touched& touched, std::vector<std::int32_t>& decided) {
  if (!has_units_of_one_device(*plan_)) {
    if (!chooser_) chooser_.emplace(plan_->unit_request(), tables_.regions, table_);
    return decide_again(*plan_, *chooser_, touched, decided);
  }
  // The splits of all operators decide about all units.
  std::optional<KernelUnits> units = troika::decide_units(*plan_, table_);
  if (!units) return false;
  plan_->units = std::move(*units);
  decided = first_numbers(plan_->units.jobs.size());
  touched = {.jobs = decided,
             .values = first_numbers(plan_->distribution.values.size()),
             .updates = first_numbers(plan_->updates.size())};
  return true;
}

MissingRows Planner::missing_rows() const {
  if (!folding_->missing().empty()) return {folding_->missing()};
  return {rows_lacking(request_, table_)};
}

}  // namespace troika
