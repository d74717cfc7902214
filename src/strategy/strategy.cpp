#include "strategy/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace troika {
namespace {

using Json = nlohmann::ordered_json;

PlannedModel planned_model(const Graph& graph) {
  return {graph.name, fmt::format("{:016x}", model_hash(graph))};
}

std::optional<std::string> why_split_infeasible(const Operator& op, const Split& split,
                                                const Graph& graph, const Machine& machine) {
  Signature s = signature(graph, op);
  std::int64_t tiles = 1;
  for (const auto& [name, degree] : split.degrees) {
    int axis = s.axis(name);
    if (axis < 0) {
      std::string there;
      for (const Axis& known : s.axes) there += (there.empty() ? "" : ", ") + known.name;
      return fmt::format("operator '{}' has no axis '{}'; it has {}", op.name, name, there);
    }
    std::int64_t extent = s.axes[static_cast<std::size_t>(axis)].extent;
    if (degree < 1 || degree > extent)
      return fmt::format("operator '{}' cannot be split {} ways along '{}', which has {} indices",
                         op.name, degree, name, extent);
    tiles *= degree;
  }
  if (tiles != static_cast<std::int64_t>(split.devices.size()))
    return fmt::format("operator '{}' has {} tiles but {} devices", op.name, tiles,
                       split.devices.size());
  for (DeviceId device : split.devices) {
    if (!device.valid() || device.index() >= machine.devices.size())
      return fmt::format("operator '{}' is placed on device {}, but the machine has {}", op.name,
                         device.value, machine.devices.size());
  }
  if (tiles > 1)
    return fmt::format("operator '{}' is split into {} tiles; this version runs unsplit operators",
                       op.name, tiles);
  return std::nullopt;
}

std::optional<std::string> why_micro_batches_infeasible(const Strategy& strategy,
                                                        const Graph& graph) {
  std::int64_t parts = strategy.micro_batches;
  if (parts < 1) return fmt::format("{} micro-batches are asked for; at least 1 is needed", parts);
  if (parts == 1) return std::nullopt;
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    int axis = s.axis("n");
    if (axis < 0)
      return fmt::format(
          "operator '{}' has no axis 'n', so the batch cannot be cut into micro-batches", op.name);
    const Axis& batch = s.axes[static_cast<std::size_t>(axis)];
    if (batch.extent % parts != 0)
      return fmt::format("operator '{}' sees a batch of {}, which {} micro-batches do not divide",
                         op.name, batch.extent, parts);
    if (batch.extent / parts % batch.whole != 0)
      return fmt::format(
          "a micro-batch of {} samples would cut the shards of {} samples that operator '{}' takes "
          "its "
          "statistics over; use more shards or fewer micro-batches",
          batch.extent / parts, batch.whole, op.name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_infeasible(const Strategy& strategy, const Graph& graph,
                                          const Machine& machine) {
  if (machine.devices.empty()) return "the machine has no devices";
  for (const auto& [name, split] : strategy.splits) {
    auto found = std::ranges::find(graph.operators, name, &Operator::name);
    if (found == graph.operators.end())
      return fmt::format("the model '{}' has no operator '{}'", graph.name, name);
    if (auto reason = why_split_infeasible(*found, split, graph, machine)) return reason;
  }
  return why_micro_batches_infeasible(strategy, graph);
}

std::optional<std::string> why_for_another_model(const Strategy& strategy, const Graph& graph) {
  PlannedModel now = planned_model(graph);
  if (!strategy.made_for || strategy.made_for->hash == now.hash) return std::nullopt;
  return fmt::format(
      "the plan was made for the model '{}' with hash {}, but this is '{}' with hash {}; make a "
      "plan "
      "for this model, or take 'model_hash' out of the plan if its splits are meant for this one "
      "too",
      strategy.made_for->name, strategy.made_for->hash, now.name, now.hash);
}

std::string to_json(const Strategy& strategy) {
  Json splits = Json::object();
  for (const auto& [name, split] : strategy.splits) {
    Json devices = Json::array();
    for (DeviceId device : split.devices) devices.push_back(device.value);
    splits[name] = {{"degrees", split.degrees}, {"devices", devices}};
  }
  Json json{{"format", "troika plan 1"}};
  if (strategy.made_for) {
    json["model"] = strategy.made_for->name;
    json["model_hash"] = strategy.made_for->hash;
  }
  json["micro_batches"] = strategy.micro_batches;
  json["splits"] = splits;
  return json.dump(2) + "\n";
}

std::string to_json(const Strategy& strategy, const Graph& graph) {
  Strategy made = strategy;
  made.made_for = planned_model(graph);
  return to_json(made);
}

Strategy parse_strategy(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (json.at("format") != "troika plan 1")
      throw Error(ErrorKind::file, "the plan has an unknown format");
    Strategy strategy{.micro_batches = json.at("micro_batches").get<std::int64_t>()};
    for (const auto& [name, split] : json.at("splits").items()) {
      Split& read = strategy.splits[name];
      read.degrees = split.at("degrees").get<std::map<std::string, std::int64_t>>();
      for (const auto& device : split.at("devices"))
        read.devices.push_back(DeviceId(device.get<std::size_t>()));
    }
    if (json.contains("model_hash"))
      strategy.made_for = PlannedModel{json.value("model", "?"), json["model_hash"]};
    return strategy;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file, fmt::format("the plan cannot be read: {}", error.what()));
  }
}

}  // namespace troika
