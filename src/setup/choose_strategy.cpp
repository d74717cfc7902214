#include "setup/choose_strategy.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/plan_settings.h"
#include "setup/auto_plan.h"
#include "strategy/plan_origin.h"
#include "strategy/ready.h"

namespace troika {
namespace {

Strategy read_plan_file(const RunConfig& config) {
  const std::string& path = config.parallel.plan.name;
  Strategy plan = load_strategy(path);
  if (config.parallel.order == ParallelConfig::Order::fixed && !plan.sync.fixed_order)
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: parallel.order = \"fixed\" needs a plan made for a fixed order, with "
                    "\"fixed_order\": true in \"sync\"; use plan \"data\", or the plan.json of a "
                    "run in fixed order",
                    path));
  return plan;
}

Strategy in_fixed_order(const RunConfig& config, const Graph& graph, const Machine& machine) {
  const std::string& plan = config.parallel.plan.name;
  if (plan != "data" && plan != "single")
    throw Error(ErrorKind::usage,
                fmt::format("parallel.order = \"fixed\" sums whole shards in a fixed tree order, "
                            "which plan \"{}\" does not support; use plan \"data\"",
                            plan));
  return fixed_order(graph, machine, config.train.shards);
}

Strategy for_graph(const RunConfig& config, const Graph& graph, const Machine& machine) {
  const PlanConfig& plan = config.parallel.plan;
  if (config.parallel.order == ParallelConfig::Order::fixed)
    return in_fixed_order(config, graph, machine);
  if (!plan.name.empty())
    return ready_strategy(plan.name, {graph, machine, config.parallel.micro_batches});
  if (plan.pipeline > 1)
    throw Error(ErrorKind::usage,
                "parallel.plan: this version does not support pipelines; use pipeline = 1");
  return mixed_parallel(graph, {plan.data, plan.tensor});
}

}  // namespace

Strategy choose_strategy(const StrategyRequest& request) {
  const RunConfig& config = request.config;
  // A plan file contains all choices itself; check_run refuses keys of [parallel] that would change
  // them.
  if (config.parallel.plan.is_file()) return read_plan_file(config);
  if (config.parallel.plan.is_auto())
    return find_auto_plan({config, request.model, request.links, {request.machine}}).strategy;
  Machine machine = with_slowest_link(request.machine, request.links);
  const std::vector<zoo::NamedGraph>& graphs = request.model.graphs;
  // merge() keeps the earlier graph's split for an operator that several graphs contain.
  // Everything but the splits, such as the synchronisation, is taken from the first graph.
  Strategy all = for_graph(config, graphs.front().graph, machine);
  for (const zoo::NamedGraph& named : graphs) {
    Strategy own = for_graph(config, named.graph, machine);
    all.splits.merge(own.splits);
  }
  if (config.parallel.weights == ParallelConfig::Weights::measured)
    for (const zoo::NamedGraph& named : graphs) all = weighted_by_speed(all, named.graph, machine);
  Strategy base = base_strategy(config);
  all.micro_batches = base.micro_batches;
  all.sync.sliced_update = base.sync.sliced_update;
  all.sync.carry_updates = base.sync.carry_updates;
  return all;
}

Strategy base_strategy(const RunConfig& config) {
  Strategy base{.micro_batches = config.parallel.micro_batches};
  base.sync.sliced_update = config.parallel.sliced_update;
  base.sync.carry_updates = config.parallel.carry_updates;
  return base;
}

Machine with_slowest_link(Machine machine, const LinkCosts& costs) {
  if (!machine.links.empty() || machine.devices.size() < 2) return machine;
  LinkKind slowest = node_count(machine) > 1               ? LinkKind::network
                     : devices_by_rank(machine).size() > 1 ? LinkKind::node
                                                           : LinkKind::process;
  const LinkCost& cost = costs[slowest];
  LinkSpeed speed{.latency = {std::llround(cost.alpha)}};
  if (cost.beta > 0) speed.bytes_per_second = 1e9 / cost.beta;
  machine.links = {{.a = 0, .b = 1, .speed = speed}};
  return machine;
}

Strategy with_origin(const Strategy& strategy, const RunConfig& config, const zoo::Model& model,
                     const Machine& machine) {
  Strategy made = strategy;
  made.made_for = planned_model(model.train());
  // Of a model of several graphs, train() has its own name.
  made.made_for->name = model.name;
  made.made_for->options = settings_of(config, "model");
  made.made_for_batch = config.train.global_batch;
  made.optimizer = settings_of(config, "optimizer");
  made.made_on = planned_machine(machine);
  return made;
}

}  // namespace troika
