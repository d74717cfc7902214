// What a plan says of the model and the machine it was made for.
#include "strategy/plan_origin.h"

#include <fmt/format.h>

#include <algorithm>
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
  std::set<DeviceId> used{DeviceId(std::size_t{0})};
  for (const auto& [name, split] : strategy.splits)
    used.insert(split.devices.begin(), split.devices.end());
  return {.largest = used.rbegin()->value,
          .known = strategy.made_on ? strategy.made_on->devices : std::ssize(used)};
}

std::optional<std::string> why_for_another_model(const Strategy& strategy, const Graph& graph) {
  PlannedModel now = planned_model(graph);
  if (!strategy.made_for || strategy.made_for->hash == now.hash) return std::nullopt;
  return fmt::format(
      "the plan was made for the model '{}' with hash {}, but this is '{}' with hash {}; make a "
      "plan for this model, or take 'model_hash' out of the plan if its splits are meant for this "
      "one too",
      strategy.made_for->name, strategy.made_for->hash, now.name, now.hash);
}

}  // namespace troika
