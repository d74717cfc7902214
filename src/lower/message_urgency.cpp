#include "lower/message_urgency.h"

#include <unordered_map>

#include "lower/plan_names.h"

namespace troika {
namespace {

std::uint64_t urgency_by_turn(const ProgramPlan& plan, const PlannedTask& end) {
  Moment finish = finish_of(plan, end);
  return urgency_of(finish.lag, pack(finish.turn));
}

}  // namespace

std::uint64_t urgency_of(const ProgramPlan& plan, const PlannedTask& end) {
  if (!plan.request.strategy->sync.priorities) return 0;
  if (!plan.message_places.empty()) {
    auto listed = plan.message_places.find(PlanNames(plan).of_message(end));
    if (listed != plan.message_places.end()) return listed_urgency(listed->second);
  }
  return urgency_by_turn(plan, end);
}

std::map<FoldedCall, MessageUrgency> message_urgencies(const Folding& folding) {
  const FoldedGraph& graph = folding.graph();
  PlanNames names(folding.plan());
  std::map<FoldedCall, MessageUrgency> found;
  for (std::int32_t own = 0; own < graph.classes.count(); ++own) {
    std::unordered_map<std::uint64_t, const PlannedTask*> finishes;  // by id
    for (const Fragment& fragment : folding.fragments_of(own))
      for (const PlannedTask& task : fragment.tasks)
        if (task.kind == WorkKind::finish) finishes.emplace(task.id.bits, &task);
    for (const FoldedTask& task : graph.tasks[as_index(own)]) {
      if (task.kind != TaskKind::finish || found.contains(task.call)) continue;
      const PlannedTask& end = *finishes.at(task.id.bits);
      found.emplace(task.call,
                    MessageUrgency{names.of_message(end), urgency_by_turn(folding.plan(), end)});
    }
  }
  return found;
}

}  // namespace troika
