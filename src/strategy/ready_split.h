// What ready strategies share: an operator's split from the axes it should be cut along.
#pragma once

#include <functional>
#include <vector>

#include "strategy/grid_split.h"
#include "strategy/split_check.h"

namespace troika {

/// The split with these factors; if the operator cannot be cut so, replicas on all devices.
Split feasible_split(const DeviceGrid& grid, const SplitSubject& subject,
                     std::vector<Factor> factors);

/// The axes to cut an operator along, the most wanted first; -1 stands for none.
using ChooseAxes = std::function<std::vector<int>(const Operator&, const Signature&)>;

/// Every operator on all devices of the machine, cut along the axes that `choose` gives.
Strategy for_each_operator(const Graph& graph, const Machine& machine, const ChooseAxes& choose);

}  // namespace troika
