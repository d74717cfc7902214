// Ready strategies: pure functions of the model and the machine. Each gives every operator a split
// that is feasible for it: where the wanted degree does not fit, a divisor of it with replicas, and
// where the operator cannot be cut so at all, replicas on all devices.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "strategy/strategy.h"

namespace troika {

/// What a ready strategy is made for. Links that are not known count for nothing.
struct ReadyRequest {
  const Graph& graph;
  const Machine& machine;
  /// Each takes messages of its own.
  std::int64_t micro_batches = 1;
};

/// {n: D} on every operator. One with fewer samples than devices, or none, is cut by a divisor of D
/// and replicated on the rest: replicas compute what others would have to be sent.
Strategy data_parallel(const Graph& graph, const Machine& machine);

/// Megatron (arXiv:1909.08053): linear layers and convolutions by output, {o: D}, then by input,
/// {i: D}, with what is between them split alike, unless a layer has more outputs than inputs;
/// attention by head; embedding and cross entropy by vocabulary; the rest along samples or sequence
/// (arXiv:2205.05198). Each recurrent layer is in single time steps by hidden units if messages of
/// the machine's slowest link are estimated to make that faster than by samples; what follows it is
/// then cut along the same dimension.
Strategy tensor_parallel(const Graph& graph, const Machine& machine);

/// Images by rows, {h: D}, or rows and columns where there are too few; what has no image by
/// samples.
Strategy spatial_parallel(const Graph& graph, const Machine& machine);

/// "One weird trick" (Krizhevsky, arXiv:1404.5997): linear layers as in tensor_parallel, all else
/// by samples.
Strategy hybrid_parallel(const Graph& graph, const Machine& machine);

/// Data parallel between nodes, tensor parallel inside a node. Nodes of unequal size work in groups
/// of a size that divides all of them.
Strategy expert_parallel(const Graph& graph, const Machine& machine);

/// Groups of `tensor` neighbouring devices, `data` times, from device 0 on.
struct MixtureDegrees {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
};
Strategy mixed_parallel(const Graph& graph, const MixtureDegrees& degrees);

/// For stacks of recurrent layers: each layer on a group of devices of its own, along samples
/// inside it, and cut into chunks of time steps, so that the group of the second layer works on the
/// first chunk while the first one works on the second. The two directions of a layer are on
/// different groups. Layers are cut whether that is predicted to be faster or not. All else as in
/// tensor_parallel without hidden units. A model without such layers is split as in
/// tensor_parallel.
Strategy wavefront(const Graph& graph, const Machine& machine);

/// Operator parallelism: consecutive operators on one device, with about equal flops on each. A
/// stack of recurrent layers that comes to be on several devices is cut into chunks if these are
/// estimated to finish sooner than the whole layers one after the other. No operator is split, so
/// hidden units are not either.
Strategy placed_in_order(const Graph& graph, const Machine& machine);
/// Operators stay on their input's device, but of several that read one tensor the second and later
/// ones go where the fewest flops are.
Strategy placed_by_branches(const Graph& graph, const Machine& machine);

/// The batch in `shards` tiles, equal numbers on each device, and sums in the order of the shards:
/// the same bits on any number of devices. Feasible if shards are a power of two and the devices
/// divide them.
Strategy fixed_order(const Graph& graph, const Machine& machine, std::int64_t shards);

/// The same with the parts along the samples in proportion to the speed of their devices. Shards
/// stay whole; a split that has no room for it stays as it is.
Strategy weighted_by_speed(const Strategy& strategy, const Graph& graph, const Machine& machine);

/// "single", "data", "tensor", "spatial", "hybrid", "expert", "placed", "branches", "wavefront".
std::span<const std::string_view> ready_names();
/// By name; throws Error(usage) with a suggestion when there is none.
Strategy ready_strategy(std::string_view name, const ReadyRequest& on);
/// For one micro-batch, as the functions above.
Strategy ready_strategy(std::string_view name, const Graph& graph, const Machine& machine);

}  // namespace troika
