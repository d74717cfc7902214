#include "setup/predicted_plan.h"

#include <set>

#include "base/error.h"
#include "lower/bind.h"
#include "lower/choose_algorithms.h"
#include "lower/live_bytes.h"
#include "lower/place_buffers.h"
#include "lower/planner.h"

namespace troika {
namespace {

/// Asks for rows until none is missing, as compile_program does.
void plan_with(Planner& planner, const KernelAnswer& answer, KernelTable& table) {
  while (std::optional<PlanRefusal> refusal = planner.plan()) {
    if (auto* infeasible = std::get_if<Infeasible>(&*refusal)) refuse(*infeasible);
    add_rows(std::get<MissingRows>(*refusal), answer, table);
  }
}

TaskGraph bind_some(Planner& planner, const KernelTable& table, const std::vector<DeviceId>& also) {
  std::set<std::int32_t> devices(planner.graph().classes.first.begin(),
                                 planner.graph().classes.first.end());
  for (DeviceId device : also) devices.insert(device.value);
  TaskGraph graph = bind_devices(planner.folding(), {devices.begin(), devices.end()}, table);
  const LowerRequest& request = planner.program().request;
  if (devices.size() < request.machine->devices.size())
    for (std::int32_t device : devices) graph.devices.push_back(DeviceId(as_index(device)));
  LinkCosts links = links_of(request);
  choose_algorithms(graph, {*request.machine, links, request.strategy->sync});
  place_buffers(graph, *request.machine, table);  // what may share memory does
  graph.dependencies = find_dependencies(graph);
  return graph;
}

}  // namespace

FoldedGraph fold_plan(const LowerRequest& request, const KernelAnswer& answer, KernelTable& table) {
  Planner planner(request, table);
  plan_with(planner, answer, table);
  return planner.graph();
}

OrderedMessages order_plan(const LowerRequest& request, const KernelAnswer& answer,
                           KernelTable& table) {
  while (true) {
    MessageOrderResult result = order_messages(request, table);
    if (auto* ordered = std::get_if<OrderedMessages>(&result)) return std::move(*ordered);
    if (auto* infeasible = std::get_if<Infeasible>(&result)) refuse(*infeasible);
    add_rows(std::get<MissingRows>(result), answer, table);
  }
}

PredictedProgram predict_program(const LowerRequest& request, const KernelAnswer& answer,
                                 KernelTable& table, const PlanPredictionOptions& options) {
  Planner planner(request, table);
  plan_with(planner, answer, table);
  PredictedProgram made{.name = request.name, .folded = planner.graph()};
  made.graph = bind_some(planner, table, options.also);
  made.memory = memory_by_class(planner.folding(), table);
  if (options.is_alone) {
    SteadyLoop loop =
        simulate_beside(made.folded, made.graph, options.timed ? options.timed() : TimedBeside{});
    made.time = loop.period;
    made.repeats = loop.repeats;
    made.pass = pass_of(made.graph, loop.pass, made.time, messages_of(made.graph, made.folded));
    made.pass.message_end = made.folded.runtime.message_end;
  }
  made.bounds = work_depth(made.folded, made.graph);
  Timeline step = simulate(made.folded);
  TROIKA_CHECK(step.length() >= made.bounds.depth, "a step shorter than its depth");
  if (options.is_alone) return made;
  made.time = step.length() + made.folded.runtime.longest_rest();
  made.pass = pass_of(made.graph, step, made.time, messages_of(made.graph, made.folded));
  made.pass.is_one_step = true;
  made.pass.message_end = made.folded.runtime.message_end;
  return made;
}

SentBytes all_sent_bytes(const PredictedProgram& program) {
  SentBytes all;
  const Classes& classes = program.folded.classes;
  for (std::int32_t at = 0; at < classes.count(); ++at) {
    SentBytes own = sent_bytes(program.graph, DeviceId(as_index(classes.first[as_index(at)])));
    for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network})
      all[kind] += own[kind] * classes.size[as_index(at)];
  }
  return all;
}

}  // namespace troika
