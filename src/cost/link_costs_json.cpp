// links.json, as `troika profile --links` writes it.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json_text.h"
#include "base/mapped_file.h"
#include "collective/algorithms.h"
#include "collective/by_mpi.h"
#include "cost/link_costs.h"

namespace troika {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kLinksFormat = "troika links 1";
/// Far more than the measurements of a few teams take; a larger file is something else.
constexpr std::size_t kLargestLinksFile = 1u << 20;

/// Pairs of bytes and nanoseconds; no line where nothing was measured.
void write(Json& json, const char* name, const SizeCurve& curve) {
  if (curve.empty()) return;
  for (const SizePoint& point : curve.points)
    json[name].push_back({point.bytes.count, point.nanoseconds});
}

Json write(const LinkCost& link) {
  Json json{
      {"alpha_ns", link.alpha}, {"beta_ns_per_byte", link.beta}, {"gamma_ns_per_byte", link.gamma}};
  if (!link.origin.empty()) json["origin"] = link.origin;
  write(json, "message_ns_at", link.message_times);
  write(json, "combine_ns_at", link.combine_times);
  return json;
}

Json write(const MemoryCost& memory) {
  Json json{{"copy_ns_per_byte", memory.copy},
            {"reduce_ns_per_byte", memory.reduce},
            {"reduce_both_ns_per_byte", memory.reduce_both}};
  write(json, "copy_ns_at", memory.copy_times);
  write(json, "reduce_ns_at", memory.reduce_times);
  write(json, "reduce_both_ns_at", memory.reduce_both_times);
  return json;
}

Json write(const MeasuredAlgorithm& row) {
  Json json{{"collective", to_string(row.kind)},
            {"algorithm", row.algorithm},
            {"members", row.members},
            {"link", to_string(row.link)}};
  write(json, "ns_at", row.times);
  return json;
}

/// A number that must be present, finite and not negative.
double figure(const Json& json, const char* name) {
  double value = json.at(name);
  if (!(std::isfinite(value) && value >= 0))
    throw Error(ErrorKind::file, fmt::format("{} is {}; it must not be negative", name, value));
  return value;
}

SizeCurve read_curve(const Json& json, const char* name) {
  SizeCurve curve;
  if (!json.contains(name)) return curve;
  for (const Json& pair : json[name]) {
    SizePoint point{{pair.at(0).get<std::int64_t>()}, pair.at(1)};
    bool ascends = curve.empty() ? point.bytes.count >= 0 : curve.points.back().bytes < point.bytes;
    if (!ascends || !(std::isfinite(point.nanoseconds) && point.nanoseconds >= 0))
      throw Error(ErrorKind::file,
                  fmt::format("{} has the pair {}: sizes must ascend and times not be negative",
                              name, pair.dump()));
    curve.points.push_back(point);
  }
  return curve;
}

LinkCost read(const Json& json) {
  return {.alpha = figure(json, "alpha_ns"),
          .beta = figure(json, "beta_ns_per_byte"),
          .gamma = figure(json, "gamma_ns_per_byte"),
          .message_times = read_curve(json, "message_ns_at"),
          .combine_times = read_curve(json, "combine_ns_at"),
          .origin = json.value("origin", "")};
}

MemoryCost read_memory(const Json& json) {
  return {.copy = figure(json, "copy_ns_per_byte"),
          .reduce = figure(json, "reduce_ns_per_byte"),
          .reduce_both = figure(json, "reduce_both_ns_per_byte"),
          .copy_times = read_curve(json, "copy_ns_at"),
          .reduce_times = read_curve(json, "reduce_ns_at"),
          .reduce_both_times = read_curve(json, "reduce_both_ns_at")};
}

LinkKind read_link(const std::string& name) {
  for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network}) {
    if (name == to_string(kind)) return kind;
  }
  throw Error(ErrorKind::file, fmt::format("there is no kind of link '{}'", name));
}

/// Nothing for an algorithm that this version does not have: its times are of no use here.
std::optional<MeasuredAlgorithm> read_row(const Json& json) {
  MeasuredAlgorithm row{.algorithm = json.at("algorithm"),
                        .members = json.at("members"),
                        .link = read_link(json.at("link")),
                        .times = read_curve(json, "ns_at")};
  const std::string& kind = json.at("collective").get_ref<const std::string&>();
  for (const Algorithm& algorithm : algorithms()) {
    bool is_known = algorithm.name == row.algorithm || row.algorithm == kByMpi;
    if (to_string(algorithm.kind) != kind || !is_known) continue;
    row.kind = algorithm.kind;
    return row;
  }
  return std::nullopt;
}

LinkCosts read_all(const Json& json) {
  const Json& links = json.at("links");
  const Json& origin = json.at("provenance");
  LinkCosts costs{.process = read(links.at("process")),
                  .node = read(links.at("node")),
                  .network = read(links.at("network")),
                  .memory = read_memory(json.at("memory")),
                  .provenance = {.source = origin.at("source"),
                                 .machine = origin.at("machine"),
                                 .date = origin.at("date"),
                                 .method = origin.at("method")}};
  for (const Json& measured : json.value("measured", Json::array())) {
    if (auto row = read_row(measured)) costs.measured.push_back(std::move(*row));
  }
  return costs;
}

}  // namespace

std::string to_json(const LinkCosts& costs) {
  Json json{{"format", kLinksFormat},
            {"provenance",
             {{"source", costs.provenance.source},
              {"machine", costs.provenance.machine},
              {"date", costs.provenance.date},
              {"method", costs.provenance.method}}},
            {"links",
             {{"process", write(costs.process)},
              {"node", write(costs.node)},
              {"network", write(costs.network)}}},
            {"memory", write(costs.memory)}};
  for (const MeasuredAlgorithm& row : costs.measured) json["measured"].push_back(write(row));
  return json.dump(1) + "\n";
}

LinkCosts parse_link_costs(const std::string& text) {
  try {
    Json json = Json::parse(text);
    if (json.at("format") != kLinksFormat)
      throw Error(ErrorKind::file,
                  fmt::format("the link costs are of format {}, this version reads {}",
                              json["format"].dump(), kLinksFormat));
    return read_all(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file, fmt::format("the link costs cannot be read: {}; `troika profile "
                                             "--links` writes such a file",
                                             json_reason(error.what())));
  }
}

LinkCosts read_link_costs(const std::filesystem::path& path) {
  std::string text = read_small_file(path, kLargestLinksFile);
  try {
    return parse_link_costs(text);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace troika
