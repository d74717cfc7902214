// links.json, as `troika profile --links` writes it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json_values.h"
#include "base/mapped_file.h"
#include "collective/algorithms.h"
#include "collective/by_mpi.h"
#include "cost/link_costs.h"

namespace troika {

using Json = nlohmann::ordered_json;

namespace {

using namespace json_values;

/// A file of link costs needs 5 levels.
constexpr FileKind kLinkFile{.name = "the file of link costs", .max_depth = 16};
/// 11 days, far above any message; sums of such times stay in 64 bits.
constexpr double kLongestTime = 1e15;
constexpr Limits kMessageSizes{.min = 0, .max = std::int64_t{1} << 62};
constexpr Limits kMembers{.min = 1, .max = 65536};
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
  if (link.overhead) json["overhead_ns"] = *link.overhead;
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

double read_nanoseconds(const Json& json, const std::string& what) {
  if (!json.is_number() || json.get<double>() < 0 || json.get<double>() > kLongestTime)
    refuse_value(json, what, fmt::format("a number from 0 to {:g}", kLongestTime));
  return json.get<double>();
}

/// A number that must be present.
double figure(const Json& json, const std::string& name) {
  return read_nanoseconds(member(json, name, "these costs"), fmt::format("'{}'", name));
}

SizePoint read_point(const Json& pair, const std::string& name) {
  if (!pair.is_array() || pair.size() != 2)
    refuse_value(pair, fmt::format("a point of '{}'", name), "a pair of bytes and nanoseconds");
  return {{read_integer(pair[0], fmt::format("a size in '{}'", name), kMessageSizes)},
          read_nanoseconds(pair[1], fmt::format("a time in '{}'", name))};
}

SizeCurve read_curve(const Json& json, const std::string& name) {
  SizeCurve curve;
  if (!json.contains(name)) return curve;
  for (const Json& pair : require_list(json[name], fmt::format("'{}'", name))) {
    SizePoint point = read_point(pair, name);
    if (!curve.empty() && point.bytes <= curve.points.back().bytes)
      refuse_because(
          pair, fmt::format("has the pair {} in '{}' behind a size as large; sort the pairs by "
                            "size",
                            shortened(pair.dump()), name));
    curve.points.push_back(point);
  }
  return curve;
}

LinkCost read_link_cost(const Json& links, const std::string& kind) {
  const Json& json = member(links, kind, "'links'");
  require_known(json, fmt::format("the link '{}'", kind),
                {"alpha_ns", "beta_ns_per_byte", "gamma_ns_per_byte", "overhead_ns", "origin",
                 "message_ns_at", "combine_ns_at"});
  return {.alpha = figure(json, "alpha_ns"),
          .beta = figure(json, "beta_ns_per_byte"),
          .gamma = figure(json, "gamma_ns_per_byte"),
          .overhead = json.contains("overhead_ns") ? std::optional(figure(json, "overhead_ns"))
                                                   : std::nullopt,
          .message_times = read_curve(json, "message_ns_at"),
          .combine_times = read_curve(json, "combine_ns_at"),
          .origin = read_text(json, "origin", "")};
}

MemoryCost read_memory(const Json& json) {
  require_known(json, "'memory'",
                {"copy_ns_per_byte", "reduce_ns_per_byte", "reduce_both_ns_per_byte", "copy_ns_at",
                 "reduce_ns_at", "reduce_both_ns_at"});
  return {.copy = figure(json, "copy_ns_per_byte"),
          .reduce = figure(json, "reduce_ns_per_byte"),
          .reduce_both = figure(json, "reduce_both_ns_per_byte"),
          .copy_times = read_curve(json, "copy_ns_at"),
          .reduce_times = read_curve(json, "reduce_ns_at"),
          .reduce_both_times = read_curve(json, "reduce_both_ns_at")};
}

LinkKind read_link(const Json& json) {
  std::string name = read_text(json, "'link'");
  for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network}) {
    if (name == to_string(kind)) return kind;
  }
  refuse_value(json, "'link'", "\"process\", \"node\" or \"network\"");
}

Provenance read_provenance(const Json& json) {
  const std::string where = "'provenance'";
  require_known(json, where, {"source", "machine", "date", "method"});
  auto text = [&](const std::string& key) { return read_text(member(json, key, where), where); };
  return {.source = text("source"),
          .machine = text("machine"),
          .date = text("date"),
          .method = text("method")};
}

/// Nothing for an algorithm that this version does not have: its times are of no use here.
std::optional<MeasuredAlgorithm> read_row(const Json& json) {
  const std::string where = "a row of 'measured'";
  require_known(json, where, {"collective", "algorithm", "members", "link", "ns_at"});
  MeasuredAlgorithm row{.algorithm = read_text(member(json, "algorithm", where), "'algorithm'"),
                        .members = static_cast<int>(
                            read_integer(member(json, "members", where), "'members'", kMembers)),
                        .link = read_link(member(json, "link", where)),
                        .times = read_curve(json, "ns_at")};
  std::string kind = read_text(member(json, "collective", where), "'collective'");
  for (const Algorithm& algorithm : algorithms()) {
    bool is_known = algorithm.name == row.algorithm || row.algorithm == kByMpi;
    if (to_string(algorithm.kind) != kind || !is_known) continue;
    row.kind = algorithm.kind;
    return row;
  }
  return std::nullopt;
}

LinkCosts read_link_file(const Json& json) {
  if (!json.contains("format") || json["format"] != kLinksFormat)
    refuse_because(
        json.contains("format") ? json["format"] : json,
        fmt::format("does not have the format \"{}\"; `troika profile --links` writes such a "
                    "file",
                    kLinksFormat));
  require_known(json, kLinkFile.name, {"format", "provenance", "links", "memory", "measured"});
  const Json& links = member(json, "links");
  require_known(links, "'links'", {"process", "node", "network"});
  LinkCosts costs{.process = read_link_cost(links, "process"),
                  .node = read_link_cost(links, "node"),
                  .network = read_link_cost(links, "network"),
                  .memory = read_memory(member(json, "memory")),
                  .provenance = read_provenance(member(json, "provenance"))};
  if (!json.contains("measured")) return costs;
  for (const Json& measured : require_list(json["measured"], "'measured'")) {
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
  return read_file<Json>(text, kLinkFile, read_link_file);
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
