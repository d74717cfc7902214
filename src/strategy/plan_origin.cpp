// What a plan says of the model and the machine it was made for.
#include "strategy/plan_origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace troika {

PlannedModel planned_model(const Graph& graph) {
  return {graph.name, fmt::format("{:016x}", model_hash(graph))};
}

PlannedMachine planned_machine(const Machine& machine) {
  PlannedMachine planned{.devices = static_cast<std::int64_t>(machine.devices.size())};
  std::set<std::int32_t> nodes;
  for (const DeviceSpec& device : machine.devices) {
    nodes.insert(device.node);
    if (std::ranges::find(planned.kinds, device.kind) == planned.kinds.end())
      planned.kinds.push_back(device.kind);
  }
  planned.nodes = static_cast<std::int64_t>(nodes.size());
  return planned;
}

NamedDevices named_devices(const Strategy& strategy) {
  std::vector<DeviceId> used{DeviceId(std::size_t{0})}, merged;
  for (const auto& [name, split] : strategy.splits) {
    merged.clear();
    std::ranges::set_union(used, devices_used(split), std::back_inserter(merged));
    used.swap(merged);
  }
  return {.largest = used.back().value,
          .known = strategy.made_on ? strategy.made_on->devices : std::ssize(used)};
}

std::string batch_note(const Strategy& strategy, std::int64_t global_batch) {
  if (!strategy.made_for_batch || *strategy.made_for_batch == global_batch) return {};
  return fmt::format("; the plan was made for a global batch of {}, and this run has {}",
                     *strategy.made_for_batch, global_batch);
}

std::optional<std::string> why_for_another_model(const Strategy& strategy, const Graph& graph) {
  PlannedModel now = planned_model(graph);
  const std::optional<PlannedModel>& made_for = strategy.made_for;
  if (!made_for || made_for->hash.empty() || made_for->hash == now.hash) return std::nullopt;
  return fmt::format(
      "the plan was made for the model '{}' with hash {}, but this is '{}' with hash {}; make a "
      "plan for this model, or take 'model_hash' out of the plan if its splits are meant for this "
      "one too",
      made_for->name, made_for->hash, now.name, now.hash);
}

}  // namespace troika
