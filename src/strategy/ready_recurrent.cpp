#include "strategy/ready_recurrent.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/cut_chains.h"
#include "strategy/grid_split.h"

namespace troika {
namespace {

/// A wavefront over g groups of devices has c + g - 1 turns for c chunks: with 4 g chunks at least
/// four fifths of them keep all groups busy.
constexpr std::int64_t kChunksPerGroup = 4;

bool is_layer(const Graph& graph, std::int32_t at) {
  return std::holds_alternative<Recurrent>(graph.operators[as_index(at)].op);
}

/// The layers and dropouts that can go through the same chunks in turn.
std::vector<LayerChain> stacks_of(const Graph& graph) {
  LayerCuts cuts;
  for (const Operator& op : graph.operators)
    if (std::holds_alternative<Recurrent>(op.op) && steps_of(graph, op) > 1)
      cuts.chunks.emplace(op.name, 2);
  return find_chains(graph, cuts);
}

std::int64_t layers_in(const Graph& graph, const LayerChain& chain) {
  return std::ranges::count_if(chain, [&](std::int32_t at) { return is_layer(graph, at); });
}

/// Groups of neighbouring devices, of equal size.
struct Groups {
  std::int64_t count = 1;
  std::int64_t size = 1;
};

Groups groups_of(std::int64_t devices, std::int64_t layers) {
  std::int64_t count = std::min(layers, devices);
  return {.count = count, .size = devices / count};
}

/// Along samples over one group; a group of more devices than samples has replicas.
Split split_on_group(const Graph& graph, const Operator& op, const Groups& groups,
                     std::int64_t group) {
  Signature s = signature(graph, op);
  Split split = split_on({.count = groups.size}, s, spend(s, {}, groups.size, {s.axis("n")}));
  split.first += group * groups.size;
  return split;
}

/// The layers of a stack on one group after the other, dropouts with the layer above.
void place_stack(Strategy& strategy, const Graph& graph, const LayerChain& stack,
                 const Groups& groups) {
  std::int64_t layers = layers_in(graph, stack), layer = 0;
  for (std::int32_t member : stack) {
    const Operator& op = graph.operators[as_index(member)];
    strategy.splits[op.name] = split_on_group(graph, op, groups, layer * groups.count / layers);
    if (is_layer(graph, member)) ++layer;
  }
}

/// Seconds for what one device sends in messages of a collective: to each of the others, an equal
/// part of `bytes`, over the slowest link.
double exchange_seconds(const Machine& machine, double bytes) {
  auto devices = static_cast<double>(machine.devices.size());
  auto rate = [](const Link& link) { return link.speed.bytes_per_second; };
  const LinkSpeed& slowest = std::ranges::min_element(machine.links, {}, rate)->speed;
  double latency = static_cast<double>(slowest.latency.count) * 1e-9;
  return (devices - 1) * (latency + bytes / devices / slowest.bytes_per_second);
}

}  // namespace

void cut_stacks(Strategy& strategy, const Graph& graph) {
  for (const LayerChain& stack : stacks_of(graph)) {
    std::set<std::vector<DeviceId>> groups;
    for (std::int32_t member : stack)
      if (is_layer(graph, member))
        groups.insert(devices_used(split_of(strategy, graph.operators[as_index(member)].name)));
    if (groups.size() < 2) continue;
    std::int64_t steps = steps_of(graph, graph.operators[as_index(stack.front())]);
    for (std::int32_t member : stack)
      if (is_layer(graph, member))
        strategy.splits[graph.operators[as_index(member)].name].chunks =
            std::min<std::int64_t>(steps, kChunksPerGroup * std::ssize(groups));
  }
}

Strategy wavefront(const Graph& graph, const Machine& machine) {
  Strategy strategy = tensor_parallel(graph, machine);
  auto devices = static_cast<std::int64_t>(machine.devices.size());
  std::map<TensorId, std::vector<const Operator*>> alone;  // layers outside of stacks, by input
  for (const LayerChain& stack : stacks_of(graph)) {
    std::int64_t layers = layers_in(graph, stack);
    const Operator& first = graph.operators[as_index(stack.front())];
    if (layers > 1)
      place_stack(strategy, graph, stack, groups_of(devices, layers));
    else
      alone[first.inputs[0]].push_back(&first);
  }
  for (const auto& [input, directions] : alone) {
    if (directions.size() < 2) continue;
    Groups groups = groups_of(devices, std::ssize(directions));
    for (std::int64_t at = 0; at < std::ssize(directions); ++at) {
      const Operator& op = *directions[as_index(at)];
      strategy.splits[op.name] = split_on_group(graph, op, groups, at % groups.count);
    }
  }
  cut_stacks(strategy, graph);
  return strategy;
}

// Along samples, the gradients of the weights are reduced over all devices. Along hidden units,
// each step gathers h and reduces its gradient, and the gradients of the weights' own parts are
// added up step by step.
std::optional<Split> split_hidden_units(const Graph& graph, const Operator& op,
                                        const Machine& machine) {
  const auto& layer = std::get<Recurrent>(op.op);
  auto devices = static_cast<std::int64_t>(machine.devices.size());
  std::int64_t steps = steps_of(graph, op);
  if (devices < 2 || devices > layer.hidden || steps < 2 || machine.links.empty())
    return std::nullopt;
  double weights = 0;
  for (ParameterId parameter : op.parameters)
    weights += static_cast<double>(graph[parameter].spec.bytes().count);
  double own = static_cast<double>(graph[op.parameters[1]].spec.bytes().count) /
               static_cast<double>(devices);
  double state = static_cast<double>(graph[op.outputs[1]].spec.bytes().count);
  // A sum reads two gradients and writes one, beside the product that has written its term.
  double sums = 4 * own / machine.devices[0].bytes_per_second;
  double along_units = static_cast<double>(steps) * (2 * exchange_seconds(machine, state) + sums);
  double along_samples = 2 * exchange_seconds(machine, weights);
  if (along_units >= along_samples) return std::nullopt;
  return Split{.factors = {{"u", devices}}, .chunks = steps};
}

}  // namespace troika
