#include "strategy/ready_split.h"

#include <limits>

namespace troika {

Split feasible_split(const DeviceGrid& grid, const SplitSubject& subject,
                     std::vector<Factor> factors) {
  // Whether there are such devices is for the whole strategy to say.
  SplitTerms terms{.devices = std::numeric_limits<std::int32_t>::max()};
  Split split = split_on(grid, *subject.signature, std::move(factors));
  if (!why_split_infeasible(subject, split, terms)) return split;
  return split_on(grid, *subject.signature, {{.axis = "", .degree = grid.count}});
}

Strategy for_each_operator(const Graph& graph, const Machine& machine, const ChooseAxes& choose) {
  auto count = static_cast<std::int64_t>(machine.devices.size());
  DeviceGrid grid = first_devices(graph, count);
  Strategy strategy;
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    strategy.splits[op.name] = feasible_split(grid, {&op, &s}, spend(s, {}, count, choose(op, s)));
  }
  return strategy;
}

}  // namespace troika
