#include "lower/planner.h"

#include <algorithm>

#include "base/error.h"
#include "lower/decide.h"
#include "lower/unit_changes.h"
#include "strategy/strategy_change.h"
#include "strategy/tiles.h"

namespace troika {
Planner::Planner(const LowerRequest& request, const KernelTable& table)
    : table_(table), model_(*request.graph), strategy_(*request.strategy), of_model_(request) {
  of_model_.strategy = &strategy_;
}

std::optional<PlanRefusal> Planner::plan() {
  before_.reset();
  return plan_again();
}

std::optional<PlanRefusal> Planner::plan_again() {
  if (auto reason = cut()) return Infeasible{*reason};
  if (auto reason = why_no_plan(request())) return Infeasible{*reason};
  chooser_.reset();
  try {
    return plan_from_scratch();
  } catch (const OutOfIds& error) {
    return Infeasible{error.what()};
  }
}

std::optional<std::string> Planner::cut() {
  LayerCuts cuts = layer_cuts(strategy_, model_);
  if (!cuts.chunks.empty())
    if (auto reason = why_infeasible(strategy_, model_, *of_model_.machine)) return reason;
  if (!cut_ || cuts != cut_->cuts) {
    // All of these refer to the graph.
    folding_.reset();
    chooser_.reset();
    plan_.reset();
    tables_.reset();
    cut_.emplace(of_model_);
    tables_.emplace(*request().graph, *request().machine);
  } else if (cut_->cut) {
    cut_->strategy = cut_strategy(strategy_, model_, *cut_->cut);
  }
  return std::nullopt;
}

bool Planner::has_other_cuts() const { return layer_cuts(strategy_, model_) != cut_->cuts; }

std::vector<std::int32_t> Planner::planned_operators(std::span<const std::int32_t> operators) {
  if (!cut_->cut) return {operators.begin(), operators.end()};
  std::vector<std::int32_t> planned;
  const CutGraph& cut = *cut_->cut;
  for (std::int32_t at = 0; at < std::ssize(cut.origins); ++at) {
    const OperatorOrigin& origin = cut.origins[as_index(at)];
    if (std::ranges::find(operators, origin.of) == operators.end()) continue;
    planned.push_back(at);
    const std::string& own = cut.graph.operators[as_index(at)].name;
    if (auto split = split_of_part(strategy_, model_, origin))
      cut_->strategy.splits[own] = std::move(*split);
    else
      cut_->strategy.splits.erase(own);
  }
  return planned;
}

std::optional<PlanRefusal> Planner::plan_from_scratch() {
  plan_.emplace(ProgramPlan{request(), *tables_, distribute(request(), *tables_)});
  const Outline& outline = plan_->distribution.outline;
  if (auto reason = why_out_of_ids(
          {.phases = std::ssize(outline.jobs), .values = std::ssize(outline.values)}))
    return Infeasible{*reason};
  plan_->updates = plan_updates(request(), plan_->distribution, *tables_);
  std::optional<KernelUnits> units = troika::decide_units(*plan_, table_);
  if (!units) return MissingRows{rows_lacking(request(), table_)};
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
  std::vector<FormerSplit> before = set_splits(changes);
  bool cuts_again = has_other_cuts();
  std::vector<std::int32_t> operators;
  if (!cuts_again) {
    if (auto reason = why_changes_infeasible(changes, operators)) {
      restore(before);
      return Infeasible{*reason};
    }
  }
  try {
    std::optional<PlanRefusal> refusal;
    if (cuts_again)
      refusal = plan_again();
    else if (!follow(operators))
      refusal = missing_rows();
    if (refusal) return refuse(before, std::move(*refusal));
    before_ = std::move(before);
    return std::nullopt;
  } catch (const OutOfIds& error) {
    return refuse(before, Infeasible{error.what()});
  } catch (const Error&) {  // no kernel for some task
    refuse(before, MissingRows{});
    throw;
  }
}

std::optional<std::string> Planner::why_changes_infeasible(std::span<const SplitChange> changes,
                                                           std::vector<std::int32_t>& operators) {
  if (auto reason = why_not_cut(strategy_, model_)) return reason;
  for (const SplitChange& change : changes) operators.push_back(change.op);
  operators = planned_operators(operators);
  return why_change_infeasible({*request().strategy, operators}, tables_->index,
                               *request().machine);
}

/// From scratch, since the change may have stopped half-way.
PlanRefusal Planner::refuse(const std::vector<FormerSplit>& before, PlanRefusal reason) {
  restore(before);
  TROIKA_CHECK(!plan_again().has_value(), "undoing a change of splits failed");
  return reason;
}

void Planner::undo() {
  TROIKA_CHECK(before_.has_value(), "there is no change to undo");
  std::vector<FormerSplit> before = std::move(*before_);
  before_.reset();
  if (before.empty()) return;
  restore(before);
  if (has_other_cuts()) {
    TROIKA_CHECK(!plan_again().has_value(), "undoing a change of chunks failed");
    return;
  }
  std::vector<std::int32_t> operators;
  for (const FormerSplit& former : before) operators.push_back(former.op);
  TROIKA_CHECK(follow(planned_operators(operators)), "undoing a change of splits failed");
}

std::vector<Planner::FormerSplit> Planner::set_splits(std::span<const SplitChange> changes) {
  std::vector<FormerSplit> before;
  for (const SplitChange& change : changes) {
    const std::string& name = model_.operators[as_index(change.op)].name;
    FormerSplit& former = before.emplace_back(FormerSplit{.op = change.op});
    if (auto known = strategy_.splits.find(name); known != strategy_.splits.end())
      former.split = known->second;
    if (former.split && former.split->chunks > 1 && change.split.chunks == 1)
      former.projection = drop_projection(name);
    strategy_.splits[name] = change.split;
  }
  // An operator may be listed twice: its first split is restored last.
  std::ranges::reverse(before);
  return before;
}

std::optional<Split> Planner::drop_projection(const std::string& layer) {
  std::string name = projection_name(layer);
  // An operator of the model that has this name keeps its split.
  if (std::ranges::find(model_.operators, name, &Operator::name) != model_.operators.end())
    return std::nullopt;
  auto node = strategy_.splits.extract(name);
  return node ? std::optional(std::move(node.mapped())) : std::nullopt;
}

void Planner::restore(const std::vector<FormerSplit>& before) {
  std::vector<std::int32_t> operators;
  for (const FormerSplit& former : before) {
    const std::string& name = model_.operators[as_index(former.op)].name;
    if (former.split)
      strategy_.splits[name] = *former.split;
    else
      strategy_.splits.erase(name);
    if (former.projection) strategy_.splits[projection_name(name)] = *former.projection;
    operators.push_back(former.op);
  }
  if (!has_other_cuts()) planned_operators(operators);
}

bool Planner::follow(const std::vector<std::int32_t>& operators) {
  Touched touched = change_splits(*plan_, *tables_, operators);
  std::vector<std::int32_t> decided;
  if (!decide_units(touched, decided)) return false;
  settle(*plan_, touched, decided);
  folding_->fold_again(std::move(touched));
  return folding_->missing().empty();
}

bool Planner::decide_units(Touched& touched, std::vector<std::int32_t>& decided) {
  if (!has_units_of_one_device(*plan_)) {
    if (!chooser_) chooser_.emplace(plan_->unit_request(), tables_->regions, table_);
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
  return {rows_lacking(request(), table_)};
}

}  // namespace troika
