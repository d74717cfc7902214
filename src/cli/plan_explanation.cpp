#include "cli/plan_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "setup/optimizer_rules.h"
#include "strategy/tiles.h"

namespace troika::cli {
namespace {

void require_one_program(const SimulatedPlan& plan) {
  if (plan.programs.size() == 1) return;
  throw Error(ErrorKind::usage,
              fmt::format("a step of '{}' is {} programs, and only a step of one program can be "
                          "explained; 'troika simulate' shows where their time goes",
                          plan.target.programs.config.model.name, plan.programs.size()));
}

const Graph& graph_of(const SimulatedPlan& plan) {
  return plan.target.programs.model.graphs.front().graph;
}

/// Compares the plan with other splits.
Explanation explain_splits(const SimulatedPlan& plan) {
  const Graph& graph = graph_of(plan);
  const SimulationTarget& target = plan.target;
  OptimizerSpec optimizer = make_optimizer(target.programs.config, graph);
  LowerRequest request{.graph = &graph,
                       .strategy = &target.programs.strategy,
                       .machine = &target.on.machine,
                       .optimizer = &optimizer,
                       .links = &target.on.links};
  IndexedGraph index(graph);
  SplitMenus menus(index, target.on.machine, search_menus(index, request));
  ScoringKernels kernels(with_rows(target.costs, plan.rows), target.on.machine);
  return explain_plan(request, kernels, menus);
}

/// Times by row of a pass.
class ShownTimes {
 public:
  ShownTimes(const SimulatedPlan& plan, const LoopPass& pass)
      : rows_(operator_times(plan.programs.front().graph, pass,
                             {graph_of(plan), plan.target.programs.strategy},
                             graph_of(plan).operators.size())) {}

  const DeviceTimes& busiest() const {
    return *std::ranges::max_element(rows_, {},
                                     [](const DeviceTimes& row) { return row.sum().kernels(); });
  }
  const DeviceTimes& busiest_for(std::size_t op) const {
    return *std::ranges::max_element(
        rows_, {}, [op](const DeviceTimes& row) { return row.of_operator[op].total(); });
  }
  /// Null: the device is not shown.
  const DeviceTimes* find(DeviceId device) const {
    auto found = std::ranges::find(rows_, device, &DeviceTimes::device);
    return found == rows_.end() ? nullptr : &*found;
  }

 private:
  std::vector<DeviceTimes> rows_;
};

void add_times(const SimulatedPlan& plan, const ShownTimes& times, PlanExplanation& made) {
  const DeviceTimes& shown = times.busiest();
  made.device = shown.device;
  made.rest = shown.rest;
  made.whole = shown.sum();
  const Graph& graph = graph_of(plan);
  for (std::size_t op = 0; op < graph.operators.size(); ++op) {
    const std::string& name = graph.operators[op].name;
    bool runs_there = shown.of_operator[op].total() > SimTime{};
    const DeviceTimes& row = runs_there ? shown : times.busiest_for(op);
    made.operators.push_back(
        {name, split_of(plan.target.programs.strategy, name), row.device, row.of_operator[op]});
  }
}

void add_measured(const ShownTimes& times, PlanExplanation& made) {
  if (const DeviceTimes* shown = times.find(made.device)) {
    made.measured_rest = shown->rest;
    made.measured_whole = shown->sum();
  }
  for (std::size_t op = 0; op < made.operators.size(); ++op)
    if (const DeviceTimes* row = times.find(made.operators[op].device))
      made.operators[op].measured = row->of_operator[op];
}

std::vector<Resource> resources_of(const SimulatedPlan& plan, const PlanExplanation& made) {
  const PredictedProgram& program = plan.programs.front();
  std::vector<Resource> all;
  // All devices count, although a run shows only some of them.
  const ShownTimes times(plan, program.pass);
  all.push_back({fmt::format("kernels of device {}", times.busiest().device.value),
                 times.busiest().sum().kernels()});
  if (!made.links.empty())
    all.push_back({fmt::format("link {} -> {}", made.links.front().from, made.links.front().to),
                   made.links.front().busy});
  all.push_back(
      {"longest cycle of results over the loop", heaviest_cycle(program.folded, program.graph)});
  std::ranges::stable_sort(all, std::greater{}, &Resource::busy);
  return all;
}

PlanExplanation explain_pass(const SimulatedPlan& plan, const LoopPass& pass) {
  require_one_program(plan);
  const PredictedProgram& program = plan.programs.front();
  const Graph& graph = graph_of(plan);
  PlanExplanation made{.step = program.time,
                       .devices = std::ssize(plan.target.on.machine.devices),
                       .batch = plan.target.programs.config.train.global_batch,
                       .notes = plan.target.notes};
  add_times(plan, {plan, pass}, made);
  made.path = path_shares(program.graph, program.pass, {graph, plan.target.programs.strategy});
  made.sent = all_sent_bytes(program);
  made.links = link_traffic(program, plan.target.on);
  made.resources = resources_of(plan, made);
  made.splits = explain_splits(plan);
  if (made.devices > 1) made.layers = parameter_traffic(IndexedGraph(graph));
  return made;
}

}  // namespace

PlanExplanation explain(const SimulatedPlan& plan) {
  return explain_pass(plan, plan.programs.front().pass);
}

PlanExplanation explain(const MeasuredRun& run) {
  PlanExplanation made = explain_pass(run.plan, run.predicted);
  add_measured({run.plan, run.measured}, made);
  made.notes = notes_of(run);
  return made;
}

}  // namespace troika::cli
