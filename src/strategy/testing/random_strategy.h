// A strategy drawn at random from the whole space, for tests that hold for all of them.
#pragma once

#include <cstdint>

#include "strategy/strategy.h"

namespace troika {

/// Feasible, and the same for the same seed on every machine: random degrees along several axes,
/// uneven and weighted parts, replicas, any devices by list, sometimes micro-batches, any kind of
/// sync but fixed order.
Strategy random_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed);

/// The same with views: several factors of one axis, in any order, strides from 0 on, any first
/// device.
Strategy random_view_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed);

/// The same strategy with recurrent layers cut over time: random chunks, on devices of their own or
/// together, weighted or with replicas, single steps also along hidden units, sometimes with a
/// split of their own for the input projection. Layers of a stack often have equal chunks.
/// Feasible, unless the model has no recurrent layer or none of the draws fits: then as it was.
Strategy with_random_cuts(const Strategy& strategy, const Graph& graph, const Machine& machine,
                          std::uint64_t seed);

}  // namespace troika
