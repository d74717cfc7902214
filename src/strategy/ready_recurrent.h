// Cuts of recurrent layers in ready strategies.
#pragma once

#include "strategy/ready.h"

namespace troika {

/// Cuts stacks of recurrent layers that the strategy has on several devices into chunks, so that
/// the devices work on different chunks at the same time.
void cut_stacks(Strategy& strategy, const Graph& graph);

/// A layer's split along its hidden units over the devices 0, 1, ..., in single time steps, if that
/// is predicted to be faster on this machine than splitting it along samples; else nothing.
std::optional<Split> split_hidden_units(const Graph& graph, const Operator& op,
                                        const Machine& machine);

}  // namespace troika
