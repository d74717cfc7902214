#include "strategy/cut_strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/cut_chains.h"

namespace troika {
namespace {

using Part = OperatorOrigin::Part;
using Reason = std::optional<std::string>;

/// Names of axes, as the operators of a cut layer have them.
constexpr std::string_view kSamples = "n", kTime = "t", kUnits = "u";
/// The last dimension of [n,t,gate,unit] where axes are named after positions.
constexpr std::string_view kFourth = "v";

std::int64_t places_of_chunk(const Split& split) { return tile_count(split) * replicas_of(split); }

/// A list of devices has those of one chunk after the other.
std::vector<DeviceId> devices_of_chunk(const Split& split, std::int64_t chunk) {
  auto first = split.devices.begin() + chunk * places_of_chunk(split);
  return {first, first + places_of_chunk(split)};
}

/// Degrees of a split that was not read from a file may be any numbers.
bool has_list_of_chunks(const Split& split) {
  std::int64_t tiles = tile_count(split), replicas = replicas_of(split);
  if (tiles < 1 || replicas < 1 || tiles > kMostTiles / replicas) return false;
  return std::ssize(split.devices) == tiles * replicas * split.chunks;
}

/// Whether all chunks run on the same devices.
bool chunks_are_together(const Split& split) {
  if (is_view(split)) return split.chunk_stride == 0;
  if (!has_list_of_chunks(split)) return true;  // refused anyway
  for (std::int64_t chunk = 1; chunk < split.chunks; ++chunk)
    if (devices_of_chunk(split, chunk) != devices_of_chunk(split, 0)) return false;
  return true;
}

/// Whether two chunks of the chain can run at once.
bool is_wavefront(const Strategy& strategy, const Graph& graph, const LayerChain& chain) {
  std::set<std::vector<DeviceId>> devices;
  for (std::int32_t member : chain) {
    const Operator& op = graph.operators[as_index(member)];
    if (!std::holds_alternative<Recurrent>(op.op)) continue;
    const Split& split = strategy.splits.at(op.name);
    if (!chunks_are_together(split)) return true;
    devices.insert(devices_used(split));
  }
  return devices.size() > 1;
}

/// On the same devices, taking turns gains nothing and cuts the input projections into small
/// products.
void add_alone(const Strategy& strategy, const Graph& graph, const std::vector<LayerChain>& chains,
               LayerCuts& cuts) {
  for (const LayerChain& chain : chains) {
    if (is_wavefront(strategy, graph, chain)) continue;
    for (std::int32_t member : chain) {
      const Operator& op = graph.operators[as_index(member)];
      if (member != chain.front() && std::holds_alternative<Recurrent>(op.op))
        cuts.alone.insert(op.name);
    }
  }
}

Split split_of_chunk(const Split& split, std::int64_t chunk) {
  Split made{.factors = split.factors, .first = split.first + chunk * split.chunk_stride};
  if (!is_view(split)) made.devices = devices_of_chunk(split, chunk);
  return made;
}

/// In a list, devices of different units are next to each other but for replicas, whatever the
/// name of that axis is.
Split with_units_as(Split split, std::string_view axis) {
  for (Factor& factor : split.factors)
    if (factor.axis == kUnits) factor.axis = axis;
  return split;
}

/// Each tile of samples where its first unit is.
Split without_units(Split split) {
  auto units = static_cast<std::size_t>(degree_along(split, kUnits));
  auto replicas = static_cast<std::size_t>(replicas_of(split));
  std::vector<DeviceId> devices;
  for (std::size_t at = 0; at < split.devices.size(); ++at)
    if (at / replicas % units == 0) devices.push_back(split.devices[at]);
  split.devices = std::move(devices);
  std::erase_if(split.factors, [](const Factor& factor) { return factor.axis == kUnits; });
  return split;
}

Split split_of_layer_part(const Split& split, const OperatorOrigin& origin) {
  Split made = split_of_chunk(split, std::max(origin.chunk, 0));
  if (origin.part != Part::split) return made;
  return chunks_are_together(split) ? with_units_as(made, kFourth) : without_units(made);
}

/// A dropout between layers has no chunks of its own: all its parts are where it is.
Split split_of_dropout_part(Split split) {
  std::erase_if(split.factors, [](const Factor& factor) { return factor.axis == kTime; });
  return split;
}

Reason why_units_whole(const Operator& op, const Split& split, std::int64_t steps) {
  if (degree_along(split, kUnits) == 1 || split.chunks == steps) return std::nullopt;
  return fmt::format(
      "operator '{}' can be split along its hidden units ('u') only if it is cut into single time "
      "steps; set \"chunks\" to {}",
      op.name, steps);
}

Reason why_layer_wrong(const Graph& graph, const Operator& op, const Split& split) {
  if (split.chunk_stride < 0)
    return fmt::format("operator '{}' has the chunk stride {}; strides are 0 or more", op.name,
                       split.chunk_stride);
  if (Reason reason = why_units_whole(op, split, steps_of(graph, op))) return reason;
  if (split.chunks == 1) return std::nullopt;
  for (const Factor& factor : split.factors)
    if (!factor.axis.empty() && factor.axis != kSamples && factor.axis != kUnits)
      return fmt::format(
          "operator '{}' is cut into chunks and has no axis '{}'; its chunks have n and, if they "
          "are single time steps, u",
          op.name, factor.axis);
  if (is_view(split) || has_list_of_chunks(split)) return std::nullopt;
  return fmt::format(
      "operator '{}' has {} chunks of {} tiles with {} replicas, but lists {} devices; list one "
      "for each, chunk after chunk",
      op.name, split.chunks, tile_count(split), replicas_of(split), split.devices.size());
}

/// Adds the dropouts of these chains that are split over time already. Returns whether there were
/// any that stay in one piece only now.
bool add_whole_dropouts(const Strategy& strategy, const Graph& graph,
                        const std::vector<LayerChain>& chains, LayerCuts& cuts) {
  std::size_t before = cuts.whole.size();
  for (const LayerChain& chain : chains)
    for (std::int32_t member : chain) {
      const Operator& op = graph.operators[as_index(member)];
      auto split = strategy.splits.find(op.name);
      if (!std::holds_alternative<Recurrent>(op.op) && split != strategy.splits.end() &&
          degree_along(split->second, kTime) != 1)
        cuts.whole.insert(op.name);
    }
  return cuts.whole.size() > before;
}

/// Only what makes a difference to the cut graph: plans are made from scratch when cuts change.
void add_exceptions(const Strategy& strategy, const Graph& graph, LayerCuts& cuts) {
  LayerCuts layers = cuts;  // without what why_not_cut refuses
  std::erase_if(layers.chunks, [&](const auto& each) {
    return !std::holds_alternative<Recurrent>(find_operator(graph, each.first)->op);
  });
  std::vector<LayerChain> chains = find_chains(graph, layers);
  // Shorter chains may have other members.
  while (add_whole_dropouts(strategy, graph, chains, layers)) chains = find_chains(graph, layers);
  add_alone(strategy, graph, chains, layers);
  cuts.whole = layers.whole;
  cuts.alone = layers.alone;
  for (const LayerChain& chain : find_chains(graph, layers)) {
    const std::string& first = graph.operators[as_index(chain.front())].name;
    if (!chunks_are_together(strategy.splits.at(first))) cuts.apart.insert(first);
  }
}

}  // namespace

LayerCuts layer_cuts(const Strategy& strategy, const Graph& graph) {
  LayerCuts cuts;
  for (const auto& [name, split] : strategy.splits)
    if (split.chunks != 1 && find_operator(graph, name) != nullptr)
      cuts.chunks.emplace(name, split.chunks);
  if (!cuts.chunks.empty()) add_exceptions(strategy, graph, cuts);
  return cuts;
}

bool is_projection_of(const LayerCuts& cuts, const std::string& name) {
  return std::ranges::any_of(
      cuts.chunks, [&](const auto& layer) { return projection_name(layer.first) == name; });
}

Reason why_not_cut(const Strategy& strategy, const Graph& graph) {
  if (Reason reason = why_not_cut(graph, layer_cuts(strategy, graph))) return reason;
  for (const auto& [name, split] : strategy.splits)
    if (split.chunks == 1 && split.chunk_stride != 0)
      return fmt::format(
          "operator '{}' has a chunk stride but no chunks; set \"chunks\", or leave it out", name);
  for (const Operator& op : graph.operators) {
    if (!std::holds_alternative<Recurrent>(op.op)) continue;
    auto split = strategy.splits.find(op.name);
    if (split == strategy.splits.end()) continue;
    if (Reason reason = why_layer_wrong(graph, op, split->second)) return reason;
  }
  return std::nullopt;
}

std::optional<Split> split_of_part(const Strategy& strategy, const Graph& graph,
                                   const OperatorOrigin& origin) {
  const Operator& op = graph.operators[as_index(origin.of)];
  if (origin.part == Part::projection)
    if (auto own = strategy.splits.find(projection_name(op.name)); own != strategy.splits.end())
      return own->second;
  auto split = strategy.splits.find(op.name);
  if (split == strategy.splits.end()) return std::nullopt;
  if (origin.part == Part::whole) return split->second;
  return std::holds_alternative<Recurrent>(op.op) ? split_of_layer_part(split->second, origin)
                                                  : split_of_dropout_part(split->second);
}

Strategy cut_strategy(const Strategy& strategy, const Graph& graph, const CutGraph& cut) {
  Strategy made = strategy;
  made.splits.clear();
  for (std::size_t at = 0; at < cut.origins.size(); ++at)
    if (auto split = split_of_part(strategy, graph, cut.origins[at]))
      made.splits.emplace(cut.graph.operators[at].name, std::move(*split));
  return made;
}

Graph graph_of_messages(const Strategy& strategy, const Graph& graph) {
  LayerCuts cuts = layer_cuts(strategy, graph);
  bool is_cut = !cuts.chunks.empty() && !why_not_cut(strategy, graph);
  return is_cut ? cut_layers(graph, cuts).graph : graph;
}

}  // namespace troika
