#include "strategy/ready_recurrent.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/cut_chains.h"
#include "strategy/grid_split.h"

namespace troika {
namespace {

/// A wavefront over g groups of devices has c + g - 1 turns for c chunks: with 4 g chunks at least
/// four fifths of them keep all groups busy.
constexpr std::int64_t kChunksPerGroup = 4;
/// A chunk brings about 16 values and phases, of which ids count 65,536 (taskgraph/turn.h).
constexpr std::int64_t kMostChunks = 2048;
/// Overhead of the tasks of one chunk of a layer, forward and backward.
constexpr double kSecondsPerChunk = 30e-6;

bool is_layer(const Graph& graph, std::int32_t at) {
  return std::holds_alternative<Recurrent>(graph.operators[as_index(at)].op);
}

/// Whether nothing forbids to cut the layer; the number of chunks is another matter.
bool can_be_cut(const Graph& graph, const Operator& layer) {
  return steps_of(graph, layer) > 1 && !why_not_cut(graph, {.chunks = {{layer.name, 2}}});
}

/// Chunks that each recurrent layer may have if all of them are cut.
std::int64_t most_chunks(const Graph& graph) {
  auto layers = std::ranges::count_if(
      graph.operators, [](const Operator& op) { return std::holds_alternative<Recurrent>(op.op); });
  return kMostChunks / std::max<std::int64_t>(layers, 1);
}

/// The layers and dropouts that can go through the same chunks in turn.
std::vector<LayerChain> stacks_of(const Graph& graph) {
  LayerCuts cuts;
  for (const Operator& op : graph.operators)
    if (std::holds_alternative<Recurrent>(op.op) && can_be_cut(graph, op))
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

/// The slowest link; without known links messages take no time.
LinkSpeed slowest_link(const Machine& machine) {
  if (machine.links.empty()) return {.bytes_per_second = std::numeric_limits<double>::infinity()};
  auto rate = [](const Link& link) { return link.speed.bytes_per_second; };
  return std::ranges::min_element(machine.links, {}, rate)->speed;
}

double message_seconds(const LinkSpeed& link, double bytes) {
  return static_cast<double>(link.latency.count) * 1e-9 + bytes / link.bytes_per_second;
}

/// For what one device sends in messages of a collective: to each of the others, an equal part of
/// `bytes`.
double exchange_seconds(const Machine& machine, double bytes) {
  auto devices = static_cast<double>(machine.devices.size());
  return (devices - 1) * message_seconds(slowest_link(machine), bytes / devices);
}

double bytes_of(const TensorSpec& spec) { return static_cast<double>(spec.bytes().count); }

double bytes_of_weights(const Graph& graph, const Operator& layer) {
  double bytes = 0;
  for (ParameterId parameter : layer.parameters) bytes += bytes_of(graph[parameter].spec);
  return bytes;
}

/// To add up the terms of gradients of this size. They are read twice and written twice, but stay
/// in caches: measured with weights of 4 to 7 MB, it takes less than a single pass over memory
/// would (docs/performance.md, Recurrent layers in chunks).
double sum_seconds(const Machine& machine, double bytes) {
  return bytes / machine.devices[0].bytes_per_second;
}

/// Neighbouring layers of a stack on one device, or on one group of devices.
struct Stage {
  std::vector<DeviceId> devices;
  double seconds = 0;  ///< Forward and backward.
  double bytes = 0;    ///< Of the weights.
  std::int64_t layers = 0;
};

double seconds_of(const ReadyRequest& on, const Operator& layer, const Stage& stage) {
  double flops = 0;
  for (const PhaseSpec& phase : signature(on.graph, layer).phases)
    flops += static_cast<double>(phase.flops.count);
  auto devices = static_cast<double>(stage.devices.size());
  return flops / devices / on.machine[stage.devices[0]].flops_per_second;
}

std::vector<Stage> stages_of(const Strategy& strategy, const ReadyRequest& on,
                             const LayerChain& stack) {
  std::vector<Stage> stages;
  for (std::int32_t member : stack) {
    if (!is_layer(on.graph, member)) continue;
    const Operator& layer = on.graph.operators[as_index(member)];
    std::vector<DeviceId> devices = devices_used(split_of(strategy, layer.name));
    if (stages.empty() || stages.back().devices != devices) stages.push_back({devices});
    Stage& stage = stages.back();
    stage.seconds += seconds_of(on, layer, stage);
    stage.bytes += bytes_of_weights(on.graph, layer);
    ++stage.layers;
  }
  return stages;
}

/// Of a whole stack, or of one in chunks; see cut_stacks_if_faster. `bytes` is what a layer hands
/// on.
double whole_seconds(const std::vector<Stage>& stages, const ReadyRequest& on, double bytes) {
  double seconds = 0;
  for (const Stage& stage : stages) seconds += stage.seconds;
  auto messages = static_cast<double>(2 * on.micro_batches * (std::ssize(stages) - 1));
  auto parts = static_cast<double>(on.micro_batches);
  return seconds + messages * message_seconds(slowest_link(on.machine), bytes / parts);
}

double cut_seconds(const std::vector<Stage>& stages, const ReadyRequest& on, double bytes,
                   std::int64_t chunks) {
  // Each micro-batch fills and drains the stages anew.
  auto all = static_cast<double>(chunks * on.micro_batches);
  double slowest = 0;
  for (const Stage& stage : stages)
    slowest = std::max(slowest, stage.seconds / all + sum_seconds(on.machine, stage.bytes) +
                                    kSecondsPerChunk * static_cast<double>(stage.layers));
  // One there and its gradient back.
  double turn = slowest + 2 * message_seconds(slowest_link(on.machine), bytes / all);
  auto turns = static_cast<double>(on.micro_batches * (std::ssize(stages) + chunks - 1));
  return turns * turn;
}

std::int64_t chunks_of(const Graph& graph, const LayerChain& stack, std::int64_t groups) {
  std::int64_t steps = steps_of(graph, graph.operators[as_index(stack.front())]);
  return std::min({steps, kChunksPerGroup * groups, most_chunks(graph)});
}

void cut_stack(Strategy& strategy, const Graph& graph, const LayerChain& stack,
               std::int64_t chunks) {
  for (std::int32_t member : stack)
    if (is_layer(graph, member))
      strategy.splits[graph.operators[as_index(member)].name].chunks = chunks;
}

/// Groups of devices that a stack lies on.
std::int64_t groups_under(const Strategy& strategy, const Graph& graph, const LayerChain& stack) {
  std::set<std::vector<DeviceId>> groups;
  for (std::int32_t member : stack)
    if (is_layer(graph, member))
      groups.insert(devices_used(split_of(strategy, graph.operators[as_index(member)].name)));
  return std::ssize(groups);
}

/// Whether the layer reads another one, whose steps it then waits for one by one.
bool reads_layer(const Graph& graph, const Operator& layer) {
  TensorId x = layer.inputs[0];
  if (!graph[x].producer.valid()) return false;
  const Operator* below = &graph[graph[x].producer];
  if (std::holds_alternative<Dropout>(below->op)) {
    x = below->inputs[0];
    if (!graph[x].producer.valid()) return false;
    below = &graph[graph[x].producer];
  }
  return std::holds_alternative<Recurrent>(below->op);
}

}  // namespace

void cut_stacks(Strategy& strategy, const Graph& graph) {
  for (const LayerChain& stack : stacks_of(graph)) {
    std::int64_t groups = groups_under(strategy, graph, stack);
    std::int64_t chunks = chunks_of(graph, stack, groups);
    if (groups > 1 && chunks > 1) cut_stack(strategy, graph, stack, chunks);
  }
}

void cut_stacks_if_faster(Strategy& strategy, const ReadyRequest& on) {
  for (const LayerChain& stack : stacks_of(on.graph)) {
    std::vector<Stage> stages = stages_of(strategy, on, stack);
    std::int64_t chunks = chunks_of(on.graph, stack, groups_under(strategy, on.graph, stack));
    if (stages.size() < 2 || chunks < 2) continue;
    const Operator& first = on.graph.operators[as_index(stack.front())];
    double bytes = bytes_of(on.graph[first.outputs[0]].spec);
    if (cut_seconds(stages, on, bytes, chunks) < whole_seconds(stages, on, bytes))
      cut_stack(strategy, on.graph, stack, chunks);
  }
}

Strategy wavefront(const Graph& graph, const Machine& machine) {
  return wavefront_on({graph, machine});
}

Strategy wavefront_on(const ReadyRequest& on) {
  const Graph& graph = on.graph;
  auto devices = std::ssize(on.machine.devices);
  std::vector<LayerChain> stacks;
  std::map<TensorId, std::vector<const Operator*>> alone;  // layers outside of stacks, by input
  for (LayerChain& stack : stacks_of(graph)) {
    const Operator& first = graph.operators[as_index(stack.front())];
    if (layers_in(graph, stack) > 1)
      stacks.push_back(std::move(stack));
    else
      alone[first.inputs[0]].push_back(&first);
  }
  std::erase_if(alone, [](const auto& directions) { return directions.second.size() < 2; });
  if (stacks.empty() && alone.empty()) return tensor_parallel_on(on);
  // What is around the layers must not expect them to be split along hidden units.
  Strategy strategy = mixed_parallel(graph, {.tensor = devices});
  for (const LayerChain& stack : stacks)
    place_stack(strategy, graph, stack, groups_of(devices, layers_in(graph, stack)));
  for (const auto& [input, directions] : alone) {
    Groups groups = groups_of(devices, std::ssize(directions));
    for (std::int64_t at = 0; at < std::ssize(directions); ++at) {
      const Operator& op = *directions[as_index(at)];
      strategy.splits[op.name] = split_on_group(graph, op, groups, at % groups.count);
    }
  }
  cut_stacks(strategy, graph);
  return strategy;
}

bool is_faster_along_units(const ReadyRequest& on, const Operator& layer) {
  const auto& [graph, machine, micro_batches] = on;
  auto devices = std::ssize(machine.devices);
  std::int64_t steps = steps_of(graph, layer);
  // Without known links there is nothing to compare.
  if (devices < 2 || devices > std::get<Recurrent>(layer.op).hidden || machine.links.empty() ||
      !can_be_cut(graph, layer) || steps > most_chunks(graph))
    return false;
  auto parts = static_cast<double>(micro_batches);
  auto turns = parts * static_cast<double>(steps);
  double state = bytes_of(graph[layer.outputs[1]].spec), x = bytes_of(graph[layer.inputs[0]].spec);
  double own = bytes_of(graph[layer.parameters[1]].spec) / static_cast<double>(devices);
  double gathered = turns * exchange_seconds(machine, state / parts);
  double inputs = reads_layer(graph, layer) ? turns : parts;
  gathered += inputs * exchange_seconds(machine, x / inputs);
  double along_units = 2 * gathered + turns * (sum_seconds(machine, own) + kSecondsPerChunk);
  double along_samples = 2 * exchange_seconds(machine, bytes_of_weights(graph, layer));
  return along_units < along_samples;
}

Split along_units(const Graph& graph, const Operator& layer, std::int64_t devices) {
  return {.factors = {{"u", devices}}, .chunks = steps_of(graph, layer)};
}

}  // namespace troika
