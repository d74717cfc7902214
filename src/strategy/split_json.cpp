#include "strategy/split_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/suggest.h"
#include "strategy/json_values.h"

namespace troika::plan_json {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReplicas = "replicas";

Json factor_json(const Split& split, std::size_t at) {
  const Factor& factor = split.factors[at];
  Json json{{factor.axis.empty() ? kReplicas : factor.axis, factor.degree}};
  if (is_view(split) && factor.stride != dense_stride(split.factors, at))
    json["stride"] = factor.stride;
  if (!factor.weights.empty()) json["weights"] = factor.weights;
  return json;
}

std::int64_t read_number_of_device(const Json& json, const std::string& what,
                                   const std::string& op) {
  std::int64_t index = read_integer(json, fmt::format("{} of operator '{}'", what, op));
  if (index < 0 || index > std::numeric_limits<std::int32_t>::max())
    refuse(
        fmt::format("the plan puts operator '{}' on device {}; devices count from 0", op, index));
  return index;
}

std::vector<DeviceId> read_devices(const Json& json, const std::string& op) {
  require_list(json, fmt::format("the devices of '{}'", op));
  if (json.empty())
    refuse(fmt::format("the plan lists no device for operator '{}'; list one for each tile", op));
  std::vector<DeviceId> devices;
  for (const Json& device : json)
    devices.push_back(
        DeviceId(static_cast<std::size_t>(read_number_of_device(device, "a device", op))));
  return devices;
}

/// The key of a factor that names its axis, or "replicas".
std::string axis_key(const Json& json, const std::string& op) {
  require_object(json, fmt::format("a factor of operator '{}'", op));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items())
    if (key != "stride" && key != "weights") keys.push_back(key);
  if (keys.size() == 1 && !keys.front().empty()) return keys.front();
  static const std::vector<std::string> kOther{"stride", "weights", kReplicas};
  std::string hint;
  for (const std::string& key : keys)
    if (auto near = closest(key, kOther); near && *near != key)
      hint = fmt::format("; did you mean '{}' by '{}'?", *near, key);
  refuse(
      fmt::format("the plan has {} for a factor of operator '{}'; name one axis with its "
                  "degree, or replicas, and with it 'stride' and 'weights' where they are "
                  "needed{}",
                  on_one_line(json), op, hint));
}

/// A stride that is not written stays unset; it depends on the factors behind.
Factor read_factor(const Json& json, const std::string& op, std::optional<std::int64_t>& stride) {
  std::string key = axis_key(json, op);
  Factor factor{.axis = key == kReplicas ? "" : key};
  factor.degree =
      read_integer(json.at(key), fmt::format("the degree of '{}' in operator '{}'", key, op));
  if (json.contains("stride"))
    stride =
        read_integer(json["stride"], fmt::format("the stride of '{}' in operator '{}'", key, op));
  if (json.contains("weights"))
    factor.weights =
        read_numbers(json["weights"], fmt::format("the weights of '{}' in operator '{}'", key, op));
  return factor;
}

void read_factors(const Json& json, const std::string& op, Split& split) {
  require_list(json, fmt::format("the factors of '{}'", op));
  std::vector<std::optional<std::int64_t>> strides(json.size());
  for (std::size_t at = 0; at < json.size(); ++at)
    split.factors.push_back(read_factor(json[at], op, strides[at]));
  bool has_strides =
      std::ranges::any_of(strides, [](const auto& stride) { return stride.has_value(); });
  if (!is_view(split) && has_strides)
    refuse(
        fmt::format("the plan has both strides and a list of devices for operator '{}'; "
                    "leave out one of them",
                    op));
  for (std::size_t at = json.size(); at-- > 0 && is_view(split);)
    split.factors[at].stride = strides[at].value_or(dense_stride(split.factors, at));
}

}  // namespace

std::string split_text(const Split& split) {
  Json json = Json::object();
  for (std::size_t at = 0; at < split.factors.size(); ++at)
    json["factors"].push_back(factor_json(split, at));
  if (split.first != 0) json["first"] = split.first;
  for (DeviceId device : split.devices) json["devices"].push_back(device.value);
  return on_one_line(json);
}

Split read_split(std::string_view text, const std::string& op) {
  const Json json = Json::parse(text);
  require_known(json, fmt::format("the split of '{}'", op), {"factors", "first", "devices"});
  Split split;
  if (json.contains("devices")) split.devices = read_devices(json["devices"], op);
  if (json.contains("first"))
    split.first = read_number_of_device(json["first"], "the first device", op);
  if (json.contains("devices") && json.contains("first"))
    refuse(
        fmt::format("the plan has both 'first' and 'devices' for operator '{}'; leave out "
                    "one of them",
                    op));
  if (json.contains("factors")) read_factors(json["factors"], op, split);
  return split;
}

Split read_listed_split(std::string_view text, const std::string& op) {
  const Json json = Json::parse(text);
  require_known(json, fmt::format("the split of '{}'", op),
                {"degrees", "replicas", "weights", "devices"});
  std::int64_t replicas = read_integer(json, "replicas", 1);
  require_object(json.at("degrees"), fmt::format("the degrees of '{}'", op));
  Split split{.devices = read_devices(json.at("devices"), op)};
  for (const auto& [axis, degree] : json["degrees"].items())
    split.factors.push_back(
        {axis, read_integer(degree, fmt::format("the degree of '{}' in operator '{}'", axis, op))});
  Json weights = json.value("weights", Json::object());
  require_object(weights, fmt::format("the weights of '{}'", op));
  for (const auto& [axis, list] : weights.items()) {
    auto factor = std::ranges::find(split.factors, axis, &Factor::axis);
    if (factor == split.factors.end()) factor = split.factors.insert(factor, {axis});
    factor->weights =
        read_numbers(list, fmt::format("the weights of '{}' in operator '{}'", axis, op));
  }
  if (std::ranges::count(split.factors, "", &Factor::axis) > 0)
    refuse(fmt::format("the plan has an axis without a name in operator '{}'", op));
  if (replicas != 1) split.factors.push_back({.axis = "", .degree = replicas});
  return split;
}

}  // namespace troika::plan_json
