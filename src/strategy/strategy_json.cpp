// plan.json: a strategy as text, and back. A key that equals its default may be left out.
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/json_values.h"
#include "base/mapped_file.h"
#include "strategy/plan_origin.h"
#include "strategy/split_json.h"

namespace troika {
namespace {

using namespace json_values;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "troika plan 2";
/// Before there were views: every split lists its devices.
constexpr const char* kListedFormat = "troika plan 1";
/// A plan needs 5 levels.
constexpr FileKind kPlan{.name = "the plan", .max_depth = 16};
/// Of micro-batches, devices and nodes.
constexpr Limits kCounts{.min = 1, .max = std::numeric_limits<std::int32_t>::max()};
/// Of samples, as in run.toml.
constexpr Limits kBatches{.min = 1, .max = 1'000'000'000'000};
/// Sums of two sizes do not overflow.
constexpr Limits kSizes{.min = 0, .max = std::int64_t{1} << 62};

Json sync_json(const Sync& sync) {
  return {{"sliced_update", sync.sliced_update},
          {"bucket", sync.bucket.count},
          {"buckets", sync.buckets},
          {"overlap", sync.overlap},
          {"carry_updates", sync.carry_updates},
          {"priorities", sync.priorities},
          {"fixed_order", sync.fixed_order},
          {"algorithms", sync.algorithms}};
}

/// On one line, but one more for each listed message.
std::string sync_text(const Sync& sync) {
  std::string text = on_one_line(sync_json(sync));
  if (sync.message_order.empty()) return text;
  text.pop_back();  // the bracket
  std::vector<std::string> lines;
  for (const std::string& name : sync.message_order) lines.push_back("\n    " + Json(name).dump());
  return fmt::format("{}, \"message_order\": [{}]}}", text, fmt::join(lines, ","));
}

/// Numbers and switches as such, so that they look as in run.toml; anything else as a string.
Json settings_json(const std::vector<Setting>& settings) {
  Json json = Json::object();
  for (const Setting& setting : settings) {
    Json value = Json::parse(setting.value, nullptr, false);
    bool is_plain = (value.is_number() || value.is_boolean()) && value.dump() == setting.value;
    json[setting.name] = is_plain ? value : Json(setting.value);
  }
  return json;
}

std::vector<Setting> read_settings(const Json& json, const std::string& key) {
  if (!json.contains(key)) return {};
  require_object(json[key], fmt::format("'{}'", key));
  std::vector<Setting> settings;
  for (const auto& [name, value] : json[key].items()) {
    if (value.is_structured() || value.is_null())
      refuse_value(value, fmt::format("'{}' in '{}'", name, key),
                   "a text, a number, true or false");
    settings.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return settings;
}

Sync read_sync(const Json& json, bool is_listed) {
  std::vector<std::string> known{"sliced_update", "bucket",      "overlap",   "carry_updates",
                                 "priorities",    "fixed_order", "algorithms"};
  if (!is_listed) {
    known.insert(known.begin() + 2, "buckets");
    known.emplace_back("message_order");
  }
  require_known(json, "'sync'", known);
  Sync usual;
  Sync sync{.sliced_update = read_switch(json, "sliced_update", usual.sliced_update),
            .bucket = {read_integer(json, "bucket", kSizes, usual.bucket.count)},
            .overlap = read_switch(json, "overlap", usual.overlap),
            .carry_updates = read_switch(json, "carry_updates", usual.carry_updates),
            .priorities = read_switch(json, "priorities", usual.priorities),
            .fixed_order = read_switch(json, "fixed_order", usual.fixed_order),
            .algorithms = read_text(json, "algorithms", usual.algorithms)};
  if (json.contains("message_order"))
    sync.message_order = read_texts(json["message_order"], "'message_order'");
  if (!json.contains("buckets")) return sync;
  require_list(json["buckets"], "'buckets'");
  for (const Json& bucket : json["buckets"])
    sync.buckets.push_back(read_texts(bucket, "a list of 'buckets'"));
  return sync;
}

PlannedMachine read_machine(const Json& json) {
  require_known(json, "'machine'", {"devices", "nodes", "kinds"});
  return {.devices = read_integer(member(json, "devices", "'machine'"), "'devices'", kCounts),
          .nodes = read_integer(json, "nodes", kCounts, 1),
          .kinds = json.contains("kinds") ? read_texts(json["kinds"], "'kinds'")
                                          : std::vector<std::string>{}};
}

/// What the plan was made for.
void read_origin(const Json& json, Strategy& strategy) {
  if (json.contains("model") || json.contains("model_hash") || json.contains("model_options"))
    strategy.made_for =
        PlannedModel{read_text(json, "model", "?"), read_text(json, "model_hash", ""),
                     read_settings(json, "model_options")};
  if (json.contains("global_batch"))
    strategy.made_for_batch = read_integer(json["global_batch"], "'global_batch'", kBatches);
  strategy.optimizer = read_settings(json, "optimizer");
  if (json.contains("machine")) strategy.made_on = read_machine(json["machine"]);
}

/// True for the first format.
bool read_format(const Json& json) {
  if (!json.contains("format"))
    refuse_because(json,
                   "has no 'format'; check that this file is a plan, such as plan.json of a run");
  const Json& format = json["format"];
  if (format == kFormat || format == kListedFormat) return format == kListedFormat;
  refuse_because(format, fmt::format("has the format {}; this version reads \"{}\" and \"{}\"",
                                     shortened(format.dump()), kListedFormat, kFormat));
}

Strategy read_strategy(const Json& json) {
  bool is_listed = read_format(json);
  std::vector<std::string> known{"format", "model", "model_hash"};
  if (!is_listed) known.insert(known.end(), {"model_options", "global_batch", "optimizer"});
  known.insert(known.end(), {"machine", "micro_batches", "sync", "splits"});
  require_known(json, "the plan", known);
  Strategy strategy{.micro_batches = read_integer(json, "micro_batches", kCounts, 1)};
  if (json.contains("sync")) strategy.sync = read_sync(json["sync"], is_listed);
  read_origin(json, strategy);
  // A plan of the first version was never written without splits.
  if (!is_listed && !json.contains("splits")) return strategy;
  auto read = is_listed ? plan_json::read_listed_split<Json> : plan_json::read_split<Json>;
  for (const auto& [name, split] : require_object(member(json, "splits"), "'splits'").items())
    strategy.splits[name] = read(split, name);
  return strategy;
}

Json origin_json(const Strategy& strategy) {
  Json json{{"format", kFormat}};
  if (strategy.made_for) {
    json["model"] = strategy.made_for->name;
    if (!strategy.made_for->hash.empty()) json["model_hash"] = strategy.made_for->hash;
    if (!strategy.made_for->options.empty())
      json["model_options"] = settings_json(strategy.made_for->options);
  }
  if (strategy.made_for_batch) json["global_batch"] = *strategy.made_for_batch;
  if (!strategy.optimizer.empty()) json["optimizer"] = settings_json(strategy.optimizer);
  if (strategy.made_on)
    json["machine"] = {{"devices", strategy.made_on->devices},
                       {"nodes", strategy.made_on->nodes},
                       {"kinds", strategy.made_on->kinds}};
  return json;
}

}  // namespace

std::string to_json(const Strategy& strategy) {
  Json json = origin_json(strategy);
  json["micro_batches"] = strategy.micro_batches;
  std::string text = "{\n";
  for (const auto& [key, value] : json.items())
    text += fmt::format("  {}: {},\n", Json(key).dump(), on_one_line(value));
  text += fmt::format("  \"sync\": {},\n", sync_text(strategy.sync));
  // One line for each operator, to be read and edited by people.
  std::vector<std::string> lines;
  for (const auto& [name, split] : strategy.splits)
    lines.push_back(fmt::format("\n    {}: {}", Json(name).dump(), plan_json::split_text(split)));
  return fmt::format("{}  \"splits\": {{{}{}}}\n}}\n", text, fmt::join(lines, ","),
                     lines.empty() ? "" : "\n  ");
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
  return read_file<Json>(text, kPlan, read_strategy);
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
