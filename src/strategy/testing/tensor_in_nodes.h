// A plan with two levels, for tests and benchmarks of many devices.
#pragma once

#include <algorithm>

#include "strategy/ready.h"
#include "strategy/split_check.h"

namespace troika {

/// tensor_parallel inside groups of neighbouring devices, data parallelism between them.
inline Strategy tensor_in_nodes(const Graph& graph, const Machine& machine, std::int64_t inside) {
  auto groups = static_cast<std::int64_t>(machine.devices.size()) / inside;
  Machine node;
  node.devices.assign(machine.devices.begin(), machine.devices.begin() + inside);
  Strategy strategy = tensor_parallel(graph, node);
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    int samples = sample_axis(s);
    std::string axis = samples < 0 ? "" : s.axes[static_cast<std::size_t>(samples)].name;
    Split& split = strategy.splits[op.name];
    // An operator on one device of each group, if the inner plan does not split it.
    split.factors.insert(split.factors.begin(), {.axis = axis, .degree = groups, .stride = inside});
  }
  return strategy;
}

}  // namespace troika
