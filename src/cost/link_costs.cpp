#include "cost/link_costs.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"

namespace troika {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kFormat = "troika links 1";
constexpr std::size_t kLargestFile = 1u << 20;

Json write(const LinkCost& link) {
  return {
      {"alpha_ns", link.alpha}, {"beta_ns_per_byte", link.beta}, {"gamma_ns_per_byte", link.gamma}};
}

double figure(const Json& json, const char* name) {
  double value = json.at(name);
  if (!(std::isfinite(value) && value >= 0))
    throw Error(ErrorKind::file, fmt::format("{} is {}; it must not be negative", name, value));
  return value;
}

LinkCost read(const Json& json) {
  return {.alpha = figure(json, "alpha_ns"),
          .beta = figure(json, "beta_ns_per_byte"),
          .gamma = figure(json, "gamma_ns_per_byte")};
}

LinkCosts read_all(const Json& json) {
  const Json& links = json.at("links");
  const Json& memory = json.at("memory");
  const Json& origin = json.at("provenance");
  return {.process = read(links.at("process")),
          .node = read(links.at("node")),
          .network = read(links.at("network")),
          .memory = {.copy = figure(memory, "copy_ns_per_byte"),
                     .reduce = figure(memory, "reduce_ns_per_byte"),
                     .reduce_both = figure(memory, "reduce_both_ns_per_byte")},
          .provenance = {.source = origin.at("source"),
                         .machine = origin.at("machine"),
                         .date = origin.at("date"),
                         .method = origin.at("method")}};
}

}  // namespace

const LinkCost& LinkCosts::operator[](LinkKind kind) const {
  switch (kind) {
    case LinkKind::process:
      return process;
    case LinkKind::node:
      return node;
    case LinkKind::network:
      break;
  }
  return network;
}

LinkCosts assumed_link_costs() {
  return {.process = {.alpha = 150, .beta = 0.1, .gamma = 0.05},
          .node = {.alpha = 500, .beta = 0.2, .gamma = 0.1},
          .network = {.alpha = 20'000, .beta = 0.8, .gamma = 0.1},
          .memory = {.copy = 0.1, .reduce = 0.1, .reduce_both = 0.1},
          .provenance = {.source = "assumed",
                         .machine = "any",
                         .method = "a recent processor, shared memory, 10 Gbit/s Ethernet"}};
}

SimTime time_for(Bytes bytes, double nanoseconds_per_byte) {
  return {std::llround(static_cast<double>(bytes.count) * nanoseconds_per_byte)};
}

SimTime message_time(const LinkCost& link, Bytes bytes) {
  return {std::llround(link.alpha + static_cast<double>(bytes.count) * link.beta)};
}

std::string to_json(const LinkCosts& costs) {
  Json json{{"format", kFormat},
            {"provenance",
             {{"source", costs.provenance.source},
              {"machine", costs.provenance.machine},
              {"date", costs.provenance.date},
              {"method", costs.provenance.method}}},
            {"links",
             {{"process", write(costs.process)},
              {"node", write(costs.node)},
              {"network", write(costs.network)}}},
            {"memory",
             {{"copy_ns_per_byte", costs.memory.copy},
              {"reduce_ns_per_byte", costs.memory.reduce},
              {"reduce_both_ns_per_byte", costs.memory.reduce_both}}}};
  return json.dump(1) + "\n";
}

LinkCosts parse_link_costs(const std::string& text) {
  try {
    Json json = Json::parse(text);
    if (json.at("format") != kFormat)
      throw Error(ErrorKind::file,
                  fmt::format("the link costs are of format {}, this version reads {}",
                              json["format"].dump(), kFormat));
    return read_all(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file, fmt::format("no link costs can be read here: {}; `troika profile "
                                             "--links` writes such a file",
                                             error.what()));
  }
}

LinkCosts read_link_costs(const std::filesystem::path& path) {
  std::string text = read_small_file(path, kLargestFile);
  try {
    return parse_link_costs(text);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace troika
