// The time to simulate a planned model until its period is known, from its folded graph: processor
// time of one core. `items_per_second` counts the tasks and messages of all passes that it takes.
#include <benchmark/benchmark.h>

#include <string>

#include "lower/planner.h"
#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "sim/loop_body.h"
#include "sim/loop_period.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/testing/tensor_in_nodes.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

constexpr std::int64_t kInside = 8;  // devices of a node

using MakeStrategy = Strategy (*)(const Graph& graph, const Machine& machine);

Strategy in_nodes(const Graph& graph, const Machine& machine) {
  return tensor_in_nodes(graph, machine, kInside);
}

Strategy random_views(const Graph& graph, const Machine& machine) {
  return random_view_strategy(graph, machine, 1);
}

/// Full-sized, with made-up kernel times.
FoldedGraph plan_model(const std::string& name, std::int64_t devices, MakeStrategy make) {
  Lowered model;
  zoo::ModelRequest asked{.name = name};
  asked.samples.batch = devices;
  model.graph = zoo::build(asked).train();
  model.machine =
      make_machine({.nodes = {{.count = devices / kInside, .devices = kInside, .ranks = kInside}}});
  model.strategy = make(model.graph, model.machine);
  model.optimizer.rules.clear();
  for (const Parameter& parameter : model.graph.parameters)
    if (parameter.trained && !parameter.state)
      model.optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
  LowerRequest request = model.request();
  request.outputs.clear();
  KernelTable table;
  Planner planner(request, table);
  while (std::optional<PlanRefusal> refusal = planner.plan())
    table = model.kernels.answer(std::get<MissingRows>(*refusal).rows, table);
  return planner.graph();
}

void simulate_model(benchmark::State& state, const std::string& name, MakeStrategy make) {
  FoldedGraph graph = plan_model(name, state.range(0), make);
  std::int64_t items = 0;
  LoopPeriod period;
  for (auto iteration : state) {
    LoopBody body = loop_body(graph);
    period = find_period(body);
    items += std::ssize(body.tasks) * period.passes;
  }
  state.SetItemsProcessed(items);
  state.counters["passes"] = static_cast<double>(period.passes);
  state.counters["repeats"] = period.repeats ? 1 : 0;
  state.counters["classes"] = graph.classes.count();
}

void register_all() {
  for (const char* name : {"vgg16", "inception_v3", "nmt", "gpt2"}) {
    auto add = [&](const char* what, MakeStrategy make, std::vector<std::int64_t> devices) {
      auto* made = benchmark::RegisterBenchmark(
          (std::string(name) + "/" + what).c_str(),
          [=](benchmark::State& state) { simulate_model(state, name, make); });
      for (std::int64_t count : devices) made->Arg(count);
      made->Unit(benchmark::kMillisecond);
    };
    add("data", data_parallel, {8, 9216});
    add("tensor", in_nodes, {8, 9216});
    add("view", random_views, {8, 64});
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace troika
