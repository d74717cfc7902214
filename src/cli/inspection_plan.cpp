// Plans and the machines they are for.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/inspection.h"
#include "cli/text_table.h"
#include "config/load_cluster.h"
#include "machine/route.h"
#include "machine/speed_text.h"
#include "strategy/strategy.h"

namespace troika::cli {
namespace {

/// "{n: 2, o: 4}", outermost first; weights as "n: 2 (1, 3)", strides where they are not dense; of
/// a recurrent layer that is cut over time "8 chunks of {n: 2}".
std::string split_text(const Split& split) {
  std::vector<std::string> axes;
  for (std::size_t at = 0; at < split.factors.size(); ++at) {
    const Factor& factor = split.factors[at];
    if (factor.axis.empty()) continue;
    axes.push_back(fmt::format("{}: {}", factor.axis, factor.degree));
    if (!factor.weights.empty())
      axes.back() += fmt::format(" ({})", fmt::join(factor.weights, ", "));
    if (is_view(split) && factor.stride != dense_stride(split.factors, at))
      axes.back() += fmt::format(" stride {}", factor.stride);
  }
  std::string text = axes.empty() ? "whole" : fmt::format("{{{}}}", fmt::join(axes, ", "));
  if (split.chunks == 1) return text;
  std::string chunks = fmt::format("{} chunks", split.chunks);
  if (split.chunk_stride != 0) chunks += fmt::format(" stride {}", split.chunk_stride);
  return axes.empty() ? chunks : fmt::format("{} of {}", chunks, text);
}

/// As listed, or ascending for a view; a long list is cut.
std::string devices_text(const Split& split) {
  std::vector<std::int32_t> numbers;
  for (DeviceId device : is_view(split) ? devices_used(split) : split.devices)
    numbers.push_back(device.value);
  return ranges_text(numbers, kMostRanges);
}

std::string sync_text(const Sync& sync) {
  std::vector<std::string> parts{sync.sliced_update ? "sliced update" : "update on every device",
                                 "buckets of " + to_string(sync.bucket)};
  if (!sync.buckets.empty()) parts.push_back(fmt::format("{} listed buckets", sync.buckets.size()));
  parts.push_back(sync.overlap ? "overlapping" : "not overlapping");
  if (sync.overlap && sync.carry_updates) parts.push_back("updates during the next forward pass");
  if (sync.overlap && sync.priorities) parts.push_back("urgent messages first");
  if (sync.priorities && !sync.message_order.empty())
    parts.push_back(fmt::format("{} listed messages before the others", sync.message_order.size()));
  if (sync.fixed_order) parts.push_back("fixed order");
  parts.push_back(sync.algorithms.empty() ? "algorithms by cost" : sync.algorithms);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The first few of the list, which has one message at least.
std::string order_text(const std::vector<std::string>& order) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> shown(order.begin(), order.begin() + std::min(order.size(), kShown));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  return order.size() > kShown ? fmt::format("{} and {} more", text, order.size() - kShown) : text;
}

/// "layers = 3, norm = pre"
std::string settings_text(const std::vector<Setting>& settings) {
  std::vector<std::string> parts;
  for (const Setting& setting : settings)
    parts.push_back(fmt::format("{} = {}", setting.name, setting.value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The run that the plan was made for, as far as the plan says.
void add_origin(const Strategy& strategy, std::vector<Fact>& facts) {
  if (strategy.made_for && !strategy.made_for->options.empty())
    facts.push_back({"model options", settings_text(strategy.made_for->options)});
  if (strategy.made_for_batch)
    facts.push_back({"global batch", std::to_string(*strategy.made_for_batch)});
  if (!strategy.optimizer.empty())
    facts.push_back({"optimizer", settings_text(strategy.optimizer)});
}

std::string machine_text(const PlannedMachine& machine) {
  return fmt::format("devices {}, nodes {}, kind {}", machine.devices, machine.nodes,
                     fmt::join(machine.kinds, "; "));
}

std::size_t devices_used(const Strategy& strategy) {
  std::set<DeviceId> used;
  for (const auto& [name, split] : strategy.splits) {
    std::vector<DeviceId> own = devices_used(split);
    used.insert(own.begin(), own.end());
  }
  return used.empty() ? 1 : used.size();
}

std::string memory_text(Bytes memory) {
  return memory.count == 0 ? std::string("not known") : to_string(memory);
}

}  // namespace

Inspection inspect_plan(const std::string& text, const std::filesystem::path& folder) {
  Strategy strategy = parse_strategy(text);
  Inspection found{.kind = "plan"};
  bool has_hash = strategy.made_for && !strategy.made_for->hash.empty();
  found.facts = {{"model", strategy.made_for ? strategy.made_for->name : "any"},
                 {"model_hash", has_hash ? strategy.made_for->hash : "none"},
                 {"machine", strategy.made_on ? machine_text(*strategy.made_on) : "any"},
                 {"devices used", std::to_string(devices_used(strategy))},
                 {"micro-batches", std::to_string(strategy.micro_batches)},
                 {"sync", sync_text(strategy.sync)}};
  if (!strategy.sync.message_order.empty())
    found.facts.push_back({"first messages", order_text(strategy.sync.message_order)});
  found.facts.push_back({"placed operators", fmt::format("{}; the others run unsplit on device 0",
                                                         strategy.splits.size())});
  add_origin(strategy, found.facts);
  for (Fact& fact : facts_of_updates(strategy, folder)) found.facts.push_back(std::move(fact));
  for (Fact& fact : facts_of_bounds(strategy, folder)) found.facts.push_back(std::move(fact));
  if (strategy.splits.empty()) return found;
  found.rows.push_back({"operator", "split", "replicas", "devices"});
  for (const auto& [name, split] : strategy.splits)
    found.rows.push_back(
        {name, split_text(split), std::to_string(replicas_of(split)), devices_text(split)});
  return found;
}

Inspection inspect_cluster_file(const std::filesystem::path& file) {
  Cluster cluster = load_cluster(file.string());
  Machine machine = make_machine(cluster);
  Inspection found{.kind = "cluster file"};
  found.facts = {{"name", cluster.name},
                 {"nodes", std::to_string(node_count(machine))},
                 {"devices", std::to_string(machine.devices.size())}};
  auto add_route = [&](const char* name, DeviceId to) {
    auto route = route_between(machine, DeviceId(std::size_t{0}), to);
    if (route && !route->hops.empty())
      found.facts.push_back(
          {name, fmt::format("{}, {} over {} links", rate_text(route->speed.bytes_per_second),
                             to_string(route->speed.latency), route->hops.size())});
  };
  if (devices_of_node(machine, 0).size() > 1)
    add_route("inside the first node", devices_of_node(machine, 0).back());
  if (node_count(machine) > 1)
    add_route("first to last node", DeviceId(machine.devices.size() - 1));
  found.rows.push_back(
      {"node", "count", "devices", "ranks", "kind", "memory", "speed", "memory rate"});
  for (const NodeSpec& node : cluster.nodes)
    found.rows.push_back({node.name, std::to_string(node.count), std::to_string(node.devices),
                          std::to_string(node.ranks), node.kind.empty() ? "any" : node.kind,
                          memory_text(node.memory), flops_text(node.flops_per_second),
                          rate_text(node.bytes_per_second)});
  return found;
}

}  // namespace troika::cli
