// plan.json: a strategy as text, and back. A key that equals its default may be left out.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "base/mapped_file.h"
#include "base/suggest.h"
#include "strategy/plan_origin.h"

namespace troika {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "troika plan 1";

Json split_json(const Split& split) {
  Json devices = Json::array();
  for (DeviceId device : split.devices) devices.push_back(device.value);
  Json json{{"degrees", split.degrees}};
  if (split.replicas != 1) json["replicas"] = split.replicas;
  if (!split.weights.empty()) json["weights"] = split.weights;
  json["devices"] = devices;
  return json;
}

Json sync_json(const Sync& sync) {
  return {{"sliced_update", sync.sliced_update},
          {"bucket", sync.bucket.count},
          {"overlap", sync.overlap},
          {"carry_updates", sync.carry_updates},
          {"priorities", sync.priorities},
          {"fixed_order", sync.fixed_order},
          {"algorithms", sync.algorithms}};
}

/// Throws an Error that names each key of `json` which is not in `known`.
void require_known(const Json& json, const std::string& where,
                   std::initializer_list<const char*> known) {
  if (!json.is_object())
    throw Error(ErrorKind::file,
                fmt::format("the plan cannot be read: {} is not an object", where));
  std::vector<std::string> words(known.begin(), known.end());
  std::string unknown;
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(words, key) != words.end()) continue;
    auto near = closest(key, words);
    unknown += fmt::format("{}'{}'{}", unknown.empty() ? "" : ", ", key,
                           near ? fmt::format(" (did you mean '{}'?)", *near) : "");
  }
  if (!unknown.empty())
    throw Error(ErrorKind::file, fmt::format("the plan has unknown keys in {}: {}; known are {}",
                                             where, unknown, fmt::join(words, ", ")));
}

/// Throws an Error unless `json` is an object, or a list.
void require_kind(const Json& json, Json::value_t kind, const std::string& what) {
  if (json.type() == kind) return;
  throw Error(ErrorKind::file,
              fmt::format("the plan has {} for {}; {} is needed", json.dump(), what,
                          kind == Json::value_t::object ? "an object" : "a list"));
}

/// Whole numbers only: 2.5 is not read as 2.
std::int64_t read_integer(const Json& json, const std::string& what) {
  if (!json.is_number_integer())
    throw Error(ErrorKind::file,
                fmt::format("the plan has {} for {}; an integer is needed", json.dump(), what));
  return json.get<std::int64_t>();
}

std::int64_t read_integer(const Json& json, const std::string& key, std::int64_t usual) {
  return json.contains(key) ? read_integer(json[key], fmt::format("'{}'", key)) : usual;
}

bool read_switch(const Json& json, const std::string& key, bool usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_boolean())
    throw Error(ErrorKind::file, fmt::format("the plan has {} for '{}'; true or false is needed",
                                             json[key].dump(), key));
  return json[key].get<bool>();
}

std::string read_text(const Json& json, const std::string& key, const std::string& usual) {
  if (!json.contains(key)) return usual;
  if (!json[key].is_string())
    throw Error(ErrorKind::file,
                fmt::format("the plan has {} for '{}'; a text is needed", json[key].dump(), key));
  return json[key].get<std::string>();
}

std::map<std::string, std::vector<double>> read_weights(const Json& json, const std::string& op) {
  require_kind(json, Json::value_t::object, fmt::format("the weights of '{}'", op));
  std::map<std::string, std::vector<double>> weights;
  for (const auto& [axis, list] : json.items()) {
    std::string what = fmt::format("the weights of '{}' in operator '{}'", axis, op);
    require_kind(list, Json::value_t::array, what);
    for (const Json& weight : list) {
      if (!weight.is_number())
        throw Error(ErrorKind::file, fmt::format("the plan has {} among {}; numbers are needed",
                                                 weight.dump(), what));
      weights[axis].push_back(weight.get<double>());
    }
  }
  return weights;
}

DeviceId read_device(const Json& json, const std::string& op) {
  std::int64_t index = read_integer(json, fmt::format("a device of operator '{}'", op));
  if (index < 0 || index > std::numeric_limits<std::int32_t>::max())
    throw Error(
        ErrorKind::file,
        fmt::format("the plan puts operator '{}' on device {}; devices count from 0", op, index));
  return DeviceId(static_cast<std::size_t>(index));
}

Split read_split(const Json& json, const std::string& op) {
  require_known(json, fmt::format("the split of '{}'", op),
                {"degrees", "replicas", "weights", "devices"});
  Split split{.replicas = read_integer(json, "replicas", 1)};
  require_kind(json.at("degrees"), Json::value_t::object, fmt::format("the degrees of '{}'", op));
  require_kind(json.at("devices"), Json::value_t::array, fmt::format("the devices of '{}'", op));
  for (const auto& [axis, degree] : json["degrees"].items())
    split.degrees[axis] =
        read_integer(degree, fmt::format("the degree of '{}' in operator '{}'", axis, op));
  if (json.contains("weights")) split.weights = read_weights(json["weights"], op);
  for (const Json& device : json["devices"]) split.devices.push_back(read_device(device, op));
  return split;
}

Sync read_sync(const Json& json) {
  require_known(json, "'sync'",
                {"sliced_update", "bucket", "overlap", "carry_updates", "priorities", "fixed_order",
                 "algorithms"});
  Sync usual;
  return {.sliced_update = read_switch(json, "sliced_update", usual.sliced_update),
          .bucket = {read_integer(json, "bucket", usual.bucket.count)},
          .overlap = read_switch(json, "overlap", usual.overlap),
          .carry_updates = read_switch(json, "carry_updates", usual.carry_updates),
          .priorities = read_switch(json, "priorities", usual.priorities),
          .fixed_order = read_switch(json, "fixed_order", usual.fixed_order),
          .algorithms = read_text(json, "algorithms", usual.algorithms)};
}

PlannedMachine read_machine(const Json& json) {
  require_known(json, "'machine'", {"devices", "nodes", "kinds"});
  return {.devices = read_integer(json.at("devices"), "'devices'"),
          .nodes = read_integer(json, "nodes", 1),
          .kinds = json.value("kinds", std::vector<std::string>{})};
}

Strategy read_strategy(const Json& json) {
  if (!json.is_object())
    throw Error(ErrorKind::file, "the plan cannot be read: it is JSON, but not an object");
  if (json.at("format") != kFormat)
    throw Error(ErrorKind::file,
                fmt::format("the plan has the format {}; this version reads \"{}\"",
                            json["format"].dump(), kFormat));
  require_known(json, "the plan",
                {"format", "model", "model_hash", "machine", "micro_batches", "sync", "splits"});
  Strategy strategy{.micro_batches = read_integer(json.at("micro_batches"), "'micro_batches'")};
  if (json.contains("sync")) strategy.sync = read_sync(json["sync"]);
  require_kind(json.at("splits"), Json::value_t::object, "'splits'");
  for (const auto& [name, split] : json["splits"].items())
    strategy.splits[name] = read_split(split, name);
  if (json.contains("model_hash"))
    strategy.made_for = PlannedModel{json.value("model", "?"), json["model_hash"]};
  if (json.contains("machine")) strategy.made_on = read_machine(json["machine"]);
  return strategy;
}

}  // namespace

std::string to_json(const Strategy& strategy) {
  Json json{{"format", kFormat}};
  if (strategy.made_for) {
    json["model"] = strategy.made_for->name;
    json["model_hash"] = strategy.made_for->hash;
  }
  if (strategy.made_on)
    json["machine"] = {{"devices", strategy.made_on->devices},
                       {"nodes", strategy.made_on->nodes},
                       {"kinds", strategy.made_on->kinds}};
  json["micro_batches"] = strategy.micro_batches;
  json["sync"] = sync_json(strategy.sync);
  Json splits = Json::object();
  for (const auto& [name, split] : strategy.splits) splits[name] = split_json(split);
  json["splits"] = splits;
  return json.dump(2) + "\n";
}

std::string to_json(const Strategy& strategy, const Graph& graph) {
  Strategy made = strategy;
  made.made_for = planned_model(graph);
  return to_json(made);
}

std::string to_json(const Strategy& strategy, const Graph& graph, const Machine& machine) {
  Strategy made = strategy;
  made.made_on = planned_machine(machine);
  return to_json(made, graph);
}

Strategy parse_strategy(std::string_view text) {
  try {
    return read_strategy(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file,
                fmt::format("the plan cannot be read: {}", json_reason(error.what())));
  }
}

Strategy load_strategy(const std::string& path) {
  constexpr std::size_t kLargest = 64u << 20;
  std::string text = read_small_file(path, kLargest);
  try {
    return parse_strategy(text);
  } catch (const Error& error) {
    throw error.within(path);
  }
}

}  // namespace troika
