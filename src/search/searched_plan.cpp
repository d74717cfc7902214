#include "search/searched_plan.h"

#include <limits>

#include "sim/loop_body.h"
#include "strategy/tiles.h"

namespace troika {

SearchedPlan::SearchedPlan(const LowerRequest& request, const ScoringKernels& kernels)
    : request_(request), planner_(request, table_) {
  table_.answer_with([&kernels](const KernelRequest& row) { return kernels.answer(row); });
}

std::optional<std::string> SearchedPlan::start() {
  if (std::optional<PlanRefusal> refusal = planner_.plan())
    return std::get<Infeasible>(*refusal).reason;  // the table answers all rows
  delta_.simulate(planner_.graph());
  return std::nullopt;
}

bool SearchedPlan::changes_cuts(std::span<const SplitChange> changes) const {
  const Graph& graph = *request_.graph;
  for (const SplitChange& change : changes) {
    const Split& now = split_of(strategy(), graph.operators[as_index(change.op)].name);
    if (now.chunks != 1 || change.split.chunks != 1) return true;
  }
  return false;
}

std::optional<SimTime> SearchedPlan::change(std::span<const SplitChange> changes) {
  constexpr SimTime kAny{std::numeric_limits<std::int64_t>::max()};
  if (try_change(changes, kAny) == TriedChange::infeasible) return std::nullopt;
  return period();
}

TriedChange SearchedPlan::try_change(std::span<const SplitChange> changes, SimTime longest) {
  bool changes_layers = changes_cuts(changes);
  // The folding that it refers to may become another one, even where the change is refused.
  if (changes_layers) memory_.reset();
  if (planner_.change(changes)) return TriedChange::infeasible;
  if (least_period(planner_.graph()) > longest) {
    planner_.undo();
    return TriedChange::too_long;
  }
  undo_changes_cuts_ = changes_layers;
  delta_.simulate(planner_.graph());
  return TriedChange::done;
}

std::optional<SimTime> SearchedPlan::change_to(const Strategy& other) {
  std::vector<SplitChange> changes = difference(*request_.graph, strategy(), other);
  if (changes.empty()) return period();
  return change(changes);
}

void SearchedPlan::undo() {
  planner_.undo();
  delta_.undo();
  if (undo_changes_cuts_) memory_.reset();
}

std::optional<MemoryLack> SearchedPlan::find_lack() {
  if (!memory_) memory_.emplace(planner_.folding(), table_);
  const std::vector<PlannedMemory>& memory = memory_->by_class();
  const Classes& classes = planner_.graph().classes;
  std::optional<MemoryLack> worst;
  for (std::size_t at = 0; at < request_.machine->devices.size(); ++at) {
    Bytes available = request_.machine->devices[at].memory;
    Bytes needed = memory[as_index(classes.of_device[at])].total();
    if (available.count == 0 || needed <= available) continue;
    if (!worst || needed - available > worst->needed - worst->available)
      worst = MemoryLack{DeviceId(at), needed, available};
  }
  return worst;
}

std::vector<SplitChange> difference(const Graph& graph, const Strategy& from, const Strategy& to) {
  std::vector<SplitChange> changes;
  for (std::size_t at = 0; at < graph.operators.size(); ++at) {
    const std::string& name = graph.operators[at].name;
    const Split& split = split_of(to, name);
    if (split != split_of(from, name)) changes.push_back({static_cast<std::int32_t>(at), split});
  }
  return changes;
}

}  // namespace troika
