// Operator parallelism: whole operators on different devices.
#include <algorithm>
#include <set>

#include "strategy/ready.h"
#include "strategy/ready_recurrent.h"

namespace troika {
namespace {

/// Of all phases. An operator that only moves memory still counts for something.
double work_of(const Graph& graph, const Operator& op) {
  double flops = 1;
  for (const PhaseSpec& phase : signature(graph, op).phases)
    flops += static_cast<double>(phase.flops.count);
  return flops;
}

Split whole_on(std::size_t device) { return {.first = static_cast<std::int64_t>(device)}; }

/// The device of the operator that makes the first input, if one does.
std::optional<std::size_t> input_device(const Graph& graph, const Operator& op,
                                        const Strategy& so_far) {
  if (op.inputs.empty() || !graph[op.inputs[0]].producer.valid()) return std::nullopt;
  return static_cast<std::size_t>(so_far.splits.at(graph[graph[op.inputs[0]].producer].name).first);
}

}  // namespace

Strategy placed_in_order(const Graph& graph, const Machine& machine) {
  return placed_in_order_on({graph, machine});
}

Strategy placed_in_order_on(const ReadyRequest& on) {
  const Graph& graph = on.graph;
  const Machine& machine = on.machine;
  double total = 0, passed = 0;
  for (const Operator& op : graph.operators) total += work_of(graph, op);
  auto devices = static_cast<double>(machine.devices.size());
  Strategy strategy;
  for (const Operator& op : graph.operators) {
    double work = work_of(graph, op);
    auto device = static_cast<std::size_t>((passed + work / 2) / total * devices);
    strategy.splits[op.name] = whole_on(std::min(device, machine.devices.size() - 1));
    passed += work;
  }
  cut_stacks_if_faster(strategy, on);
  return strategy;
}

Strategy placed_by_branches(const Graph& graph, const Machine& machine) {
  std::vector<double> load(machine.devices.size());
  std::set<TensorId> taken;  // Tensors that an operator on their own device reads.
  Strategy strategy;
  for (const Operator& op : graph.operators) {
    auto stay = input_device(graph, op, strategy);
    bool first = stay && taken.insert(op.inputs[0]).second;
    auto device =
        first ? *stay : static_cast<std::size_t>(std::ranges::min_element(load) - load.begin());
    strategy.splits[op.name] = whole_on(device);
    load[device] += work_of(graph, op);
  }
  return strategy;
}

}  // namespace troika
