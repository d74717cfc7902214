// Cuts of recurrent layers in ready strategies, and the estimates that decide about them. They know
// the operators, the devices' rates and the slowest link, and count no overlap of messages with
// computation.
#pragma once

#include "strategy/ready.h"

namespace troika {

/// Cuts stacks of recurrent layers that the strategy has on several devices into chunks, so that
/// the devices work on different chunks at the same time.
void cut_stacks(Strategy& strategy, const Graph& graph);

/// The same for the stacks that are predicted to be faster so. A stack of s stages (neighbouring
/// layers on one device) takes as long as all stages one after the other, and in c chunks
/// (s + c - 1) / c times as long as its slowest stage, plus what chunks cost and their messages.
void cut_stacks_if_faster(Strategy& strategy, const ReadyRequest& on);

/// Whether a recurrent layer is predicted to be faster in single time steps that are split along
/// its hidden units over all devices than split along samples. Along samples, the gradients of the
/// weights are reduced over all devices. Along units, every step of every micro-batch gathers the
/// state and the layer's input, reduces their gradients, and adds its term to the gradients of the
/// weights.
bool is_faster_along_units(const ReadyRequest& on, const Operator& layer);

/// As tensor_parallel, wavefront and placed_in_order, for any number of micro-batches.
Strategy tensor_parallel_on(const ReadyRequest& on);
Strategy wavefront_on(const ReadyRequest& on);
Strategy placed_in_order_on(const ReadyRequest& on);

/// A layer in single time steps, split along its hidden units over the devices 0, 1, ...
Split along_units(const Graph& graph, const Operator& layer, std::int64_t devices);

}  // namespace troika
