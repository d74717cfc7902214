#include "cost/table_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "base/mapped_file.h"

namespace troika {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kCostsFormat = "troika costs 3";
/// The file of one kind of device, as earlier versions wrote it.
constexpr const char* kOneKindFormat = "troika costs 2";
constexpr std::size_t kLargestCostsFile = 256u << 20;

Json write(const Candidate& candidate) {
  Json layouts = Json::array();
  for (Layout layout : candidate.layouts) layouts.push_back(std::string(to_string(layout)));
  Json row{{"algorithm", candidate.algorithm},
           {"layouts", layouts},
           {"scratch", candidate.scratch.count}};
  if (candidate.flat) row["flat"] = true;
  if (!candidate.in_place.empty()) {
    row["in_place"] = Json::array();
    for (const InPlace& pair : candidate.in_place)
      row["in_place"].push_back({pair.write, pair.read});
  }
  if (candidate.time) row["nanoseconds"] = candidate.time->count;
  return row;
}

Candidate read_candidate(const Json& row) {
  Candidate candidate{.algorithm = row.at("algorithm"),
                      .flat = row.value("flat", false),
                      .scratch = {row.at("scratch").get<std::int64_t>()}};
  for (const Json& layout : row.at("layouts"))
    candidate.layouts.push_back(parse_layout(layout.get<std::string>()));
  for (const Json& pair : row.value("in_place", Json::array()))
    candidate.in_place.push_back({pair.at(0), pair.at(1)});
  if (row.contains("nanoseconds")) candidate.time = SimTime{row["nanoseconds"].get<std::int64_t>()};
  return candidate;
}

Json write(const KernelRows& rows) {
  Json kernels = Json::object();
  for (const auto& [key, row] : rows.rows_by_text()) {
    Json list = Json::array();
    for (const Candidate& candidate : row->candidates) list.push_back(write(candidate));
    kernels[key] = list;
  }
  Json json{{"kernels", kernels}};
  if (!rows.checks().empty()) json["checks"] = rows.checks();
  return json;
}

void read_rows(const Json& json, KernelRows& rows) {
  for (const auto& [text, list] : json.at("kernels").items()) {
    std::vector<Candidate> candidates;
    for (const Json& row : list) candidates.push_back(read_candidate(row));
    // Nobody asks for keys of another version, so their rows are left out.
    if (std::optional<KernelKey> key = parse_key(text)) rows.insert(*key, std::move(candidates));
  }
  if (json.contains("checks")) rows.add_checks(json["checks"].get<KernelChecks>());
}

}  // namespace

std::string to_json(const KernelTable& table) {
  Json devices = Json::object();
  for (const auto& [kind, rows] : table.kinds()) devices[kind] = write(rows);
  Json json{{"format", kCostsFormat},
            {"hash", fmt::format("{:016x}", table.hash())},
            {"devices", devices}};
  return json.dump(1) + "\n";
}

KernelTable parse_costs(const std::string& text) {
  try {
    Json json = Json::parse(text);
    KernelTable table;
    if (json.at("format") == kOneKindFormat) {
      read_rows(json, table.of(json.at("device")));
    } else if (json.at("format") == kCostsFormat) {
      for (const auto& [kind, rows] : json.at("devices").items()) read_rows(rows, table.of(kind));
    } else {
      throw Error(ErrorKind::file, fmt::format("the costs are of format {}, this version reads {}",
                                               json["format"].dump(), kCostsFormat));
    }
    return table;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file,
                fmt::format("the costs cannot be read: {}", json_reason(error.what())));
  }
}

std::optional<KernelTable> read_costs(const std::filesystem::path& path) {
  try {
    return parse_costs(read_small_file(path, kLargestCostsFile));
  } catch (const Error&) {
    // The file only saves time, so a missing or damaged one is like none.
    return std::nullopt;
  }
}

}  // namespace troika
