#include "strategy/split_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_values.h"
#include "base/suggest.h"

namespace troika::plan_json {
namespace {

using namespace json_values;
using Json = nlohmann::ordered_json;

constexpr const char* kReplicas = "replicas";
/// Device numbers have 32 bits.
constexpr Limits kDeviceNumbers{.min = 0, .max = std::numeric_limits<std::int32_t>::max()};
constexpr Limits kDegrees{.min = 1, .max = kMostTiles};

Json factor_json(const Split& split, std::size_t at) {
  const Factor& factor = split.factors[at];
  Json json{{factor.axis.empty() ? kReplicas : factor.axis, factor.degree}};
  if (is_view(split) && factor.stride != dense_stride(split.factors, at))
    json["stride"] = factor.stride;
  if (!factor.weights.empty()) json["weights"] = factor.weights;
  return json;
}

std::vector<DeviceId> read_devices(const Json& json, const std::string& op) {
  require_list(json, fmt::format("the devices of '{}'", op));
  if (json.empty())
    refuse_because(json,
                   fmt::format("lists no device for operator '{}'; list one for each tile", op));
  std::vector<DeviceId> devices;
  for (const Json& device : json) {
    auto what = fmt::format("a device of operator '{}'", op);
    devices.push_back(
        DeviceId(static_cast<std::size_t>(read_integer(device, what, kDeviceNumbers))));
  }
  return devices;
}

std::vector<double> read_weights(const Json& json, const std::string& axis, const std::string& op) {
  std::string what = fmt::format("the weights of '{}' in operator '{}'", axis, op);
  std::vector<double> weights;
  for (const Json& weight : require_list(json, what)) {
    if (!weight.is_number() || weight.get<double>() <= 0)
      refuse_because(weight, fmt::format("has {} among {}; numbers above 0 are needed",
                                         shortened(weight.dump()), what));
    weights.push_back(weight.get<double>());
  }
  return weights;
}

std::int64_t read_degree(const Json& json, const std::string& axis, const std::string& op) {
  return read_integer(json, fmt::format("the degree of '{}' in operator '{}'", axis, op), kDegrees);
}

/// Products of degrees and the devices that follow from them stay small numbers.
void require_few_tiles(const Json& json, const std::string& op, const Split& split) {
  std::int64_t tiles = 1;
  for (const Factor& factor : split.factors) {
    tiles *= factor.degree;
    if (tiles > kMostTiles)
      refuse_because(json,
                     fmt::format("cuts operator '{}' into more than {} tiles and replicas; use "
                                 "smaller degrees",
                                 op, kMostTiles));
  }
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
  refuse_because(
      json, fmt::format("has {} for a factor of operator '{}'; name one axis with its degree, or "
                        "replicas, and with it 'stride' and 'weights' where they are needed{}",
                        shortened(on_one_line(json)), op, hint));
}

/// A stride that is not written stays unset; it depends on the factors behind.
Factor read_factor(const Json& json, const std::string& op, std::optional<std::int64_t>& stride) {
  std::string key = axis_key(json, op);
  Factor factor{.axis = key == kReplicas ? "" : key};
  factor.degree = read_degree(json[key], key, op);
  if (json.contains("stride"))
    stride =
        read_integer(json["stride"], fmt::format("the stride of '{}' in operator '{}'", key, op),
                     kDeviceNumbers);
  if (json.contains("weights")) factor.weights = read_weights(json["weights"], key, op);
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
    refuse_because(
        json, fmt::format("has both strides and a list of devices for operator '{}'; leave out "
                          "one of them",
                          op));
  require_few_tiles(json, op, split);
  for (std::size_t at = json.size(); at-- > 0 && is_view(split);)
    split.factors[at].stride = strides[at].value_or(dense_stride(split.factors, at));
}

/// The axes of the first format were names of their own; now they share an object with these keys.
const std::string& require_axis(const Json& json, const std::string& axis, const std::string& op) {
  if (axis.empty() || axis == "stride" || axis == "weights" || axis == kReplicas)
    refuse_because(json,
                   fmt::format("has an axis '{}' in operator '{}'; no operator has such an axis, "
                               "remove it",
                               axis, op));
  return axis;
}

void read_listed_degrees(const Json& json, const std::string& op, Split& split) {
  require_object(json, fmt::format("the degrees of '{}'", op));
  for (const auto& [axis, degree] : json.items())
    split.factors.push_back({require_axis(degree, axis, op), read_degree(degree, axis, op)});
}

void read_listed_weights(const Json& json, const std::string& op, Split& split) {
  require_object(json, fmt::format("the weights of '{}'", op));
  for (const auto& [axis, list] : json.items()) {
    auto factor = std::ranges::find(split.factors, axis, &Factor::axis);
    if (factor == split.factors.end())
      factor = split.factors.insert(factor, {require_axis(list, axis, op)});
    factor->weights = read_weights(list, axis, op);
  }
}

}  // namespace

std::string split_text(const Split& split) {
  Json json = Json::object();
  if (split.chunks != 1) json["chunks"] = split.chunks;
  if (split.chunk_stride != 0) json["chunk_stride"] = split.chunk_stride;
  for (std::size_t at = 0; at < split.factors.size(); ++at)
    json["factors"].push_back(factor_json(split, at));
  if (split.first != 0) json["first"] = split.first;
  for (DeviceId device : split.devices) json["devices"].push_back(device.value);
  return on_one_line(json);
}

template <class Json>
Split read_split(const Json& json, const std::string& op) {
  require_known(json, fmt::format("the split of '{}'", op),
                {"factors", "first", "devices", "chunks", "chunk_stride"});
  Split split;
  if (json.contains("chunks"))
    split.chunks =
        read_integer(json["chunks"], fmt::format("the chunks of operator '{}'", op), kDegrees);
  if (json.contains("chunk_stride"))
    split.chunk_stride = read_integer(
        json["chunk_stride"], fmt::format("the chunk stride of operator '{}'", op), kDeviceNumbers);
  if (json.contains("devices")) split.devices = read_devices(json["devices"], op);
  if (json.contains("first"))
    split.first = read_integer(json["first"], fmt::format("the first device of operator '{}'", op),
                               kDeviceNumbers);
  if (json.contains("devices") && json.contains("first"))
    refuse_because(json,
                   fmt::format("has both 'first' and 'devices' for operator '{}'; leave out one of "
                               "them",
                               op));
  if (json.contains("devices") && json.contains("chunk_stride"))
    refuse_because(json,
                   fmt::format("has both 'chunk_stride' and 'devices' for operator '{}'; leave "
                               "out one of them",
                               op));
  if (json.contains("factors")) read_factors(json["factors"], op, split);
  return split;
}

template <class Json>
Split read_listed_split(const Json& json, const std::string& op) {
  const std::string where = fmt::format("the split of '{}'", op);
  require_known(json, where, {"degrees", "replicas", "weights", "devices"});
  std::int64_t replicas = read_integer(json, kReplicas, kDegrees, 1);
  Split split{.devices = read_devices(member(json, "devices", where), op)};
  read_listed_degrees(member(json, "degrees", where), op, split);
  if (json.contains("weights")) read_listed_weights(json["weights"], op, split);
  if (replicas != 1) split.factors.push_back({.axis = "", .degree = replicas});
  require_few_tiles(json, op, split);
  return split;
}

template Split read_split(const nlohmann::ordered_json&, const std::string&);
template Split read_listed_split(const nlohmann::ordered_json&, const std::string&);

}  // namespace troika::plan_json
