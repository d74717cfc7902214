#include "cost/table_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_values.h"
#include "base/mapped_file.h"

namespace troika {

using Json = nlohmann::ordered_json;

namespace {

using namespace json_values;

/// A cost file needs 8 levels.
constexpr FileKind kCostFile{.name = "the cost file", .max_depth = 16};
/// Sums of two sizes do not overflow, nor do those of thousands of times (the limit is 11 days).
constexpr Limits kScratchBytes{.min = 0, .max = std::int64_t{1} << 62};
constexpr Limits kKernelTimes{.min = 0, .max = 1'000'000'000'000'000};
/// Of operands; no kernel has nearly as many.
constexpr Limits kOperands{.min = 0, .max = 65535};
/// The limit is far beyond any number of devices or launches.
constexpr Limits kCounts{.min = 1, .max = 1'000'000'000};
/// Bytes per second.
constexpr Limits kRates{.min = 1, .max = 1'000'000'000'000'000};
constexpr const char* kCostsFormat = "troika costs 4";
/// Earlier versions: without how times were measured; and the file of one kind of device.
constexpr const char* kBareFormat = "troika costs 3";
constexpr const char* kOneKindFormat = "troika costs 2";
constexpr std::size_t kLargestCostsFile = 256u << 20;

Json write(const Timing& timing) {
  return {{"spread", timing.spread.count},
          {"repeats", timing.repeats},
          {"date", timing.date},
          {"devices", timing.at.devices},
          {"at_once", timing.at.at_once}};
}

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
  if (candidate.timing) row["measured"] = write(*candidate.timing);
  return row;
}

Layout read_layout(const Json& json) {
  std::string name = read_text(json, "a layout");
  try {
    return parse_layout(name);
  } catch (const Error&) {
    refuse_value(json, "a layout", "the name of a layout, such as \"plain\",");
  }
}

InPlace read_in_place(const Json& pair) {
  if (!pair.is_array() || pair.size() != 2)
    refuse_value(pair, "a pair of 'in_place'", "a list of two operands");
  auto operand = [&](std::size_t at) {
    return static_cast<int>(read_integer(pair[at], "an operand in 'in_place'", kOperands));
  };
  return {operand(0), operand(1)};
}

Timing read_timing(const Json& json) {
  const std::string where = "'measured'";
  require_known(json, where, {"spread", "repeats", "date", "devices", "at_once"});
  auto count = [&](const char* name) {
    return static_cast<std::int32_t>(
        read_integer(member(json, name, where), fmt::format("'{}'", name), kCounts));
  };
  Timing timing{.spread = {read_integer(member(json, "spread", where), "'spread'", kKernelTimes)},
                .repeats = count("repeats"),
                .date = read_text(member(json, "date", where), "'date'"),
                .at = {.devices = count("devices"), .at_once = count("at_once")}};
  if (timing.at.at_once > timing.at.devices)
    refuse_value(json["at_once"], "'at_once'", "at most 'devices'");
  return timing;
}

Candidate read_candidate(const Json& row) {
  const std::string where = "a kernel";
  require_known(row, where,
                {"algorithm", "layouts", "scratch", "flat", "in_place", "nanoseconds", "measured"});
  Candidate candidate{
      .algorithm = read_text(member(row, "algorithm", where), "'algorithm'"),
      .flat = read_switch(row, "flat", false),
      .scratch = {read_integer(member(row, "scratch", where), "'scratch'", kScratchBytes)}};
  for (const Json& layout : require_list(member(row, "layouts", where), "'layouts'"))
    candidate.layouts.push_back(read_layout(layout));
  if (row.contains("in_place"))
    for (const Json& pair : require_list(row["in_place"], "'in_place'"))
      candidate.in_place.push_back(read_in_place(pair));
  if (row.contains("nanoseconds"))
    candidate.time = SimTime{read_integer(row["nanoseconds"], "'nanoseconds'", kKernelTimes)};
  if (row.contains("measured")) candidate.timing = read_timing(row["measured"]);
  return candidate;
}

Json write(const KernelRows& rows) {
  Json kernels = Json::object();
  for (const auto& [key, row] : rows.rows_by_text()) {
    Json list = Json::array();
    for (const Candidate& candidate : row->candidates) list.push_back(write(candidate));
    kernels[key] = list;
  }
  Json json = Json::object();
  if (!rows.made_by.empty()) json["made_by"] = rows.made_by;
  for (const auto& [devices, rate] : rows.memory_rates)
    json["memory_rates"].push_back(
        {{"devices", devices}, {"bytes_per_second", std::llround(rate)}});
  json["kernels"] = kernels;
  if (!rows.checks().empty()) json["checks"] = rows.checks();
  return json;
}

KernelChecks read_checks(const Json& json) {
  KernelChecks checks;
  for (const auto& [key, kernels] : require_object(json, "'checks'").items())
    for (const auto& [kernel, fault] : require_object(kernels, "the checks of a key").items())
      checks[key][kernel] = read_text(fault, "the result of a check");
  return checks;
}

MemoryRates read_memory_rates(const Json& json) {
  MemoryRates rates;
  const std::string where = "a memory rate";
  for (const Json& rate : require_list(json, "'memory_rates'")) {
    require_known(rate, where, {"devices", "bytes_per_second"});
    auto devices = read_integer(member(rate, "devices", where), "'devices'", kCounts);
    rates[static_cast<std::int32_t>(devices)] = static_cast<double>(
        read_integer(member(rate, "bytes_per_second", where), "'bytes_per_second'", kRates));
  }
  return rates;
}

/// What an object says of one kind of device, but for its name.
void read_rows(const Json& json, const std::string& where, KernelRows& rows) {
  for (const auto& [text, list] :
       require_object(member(json, "kernels", where), "'kernels'").items()) {
    std::vector<Candidate> candidates;
    for (const Json& row : require_list(list, "the kernels of a key"))
      candidates.push_back(read_candidate(row));
    // Nobody asks for keys of another version, so their rows are left out.
    if (std::optional<KernelKey> key = parse_key(text)) rows.insert(*key, std::move(candidates));
  }
  if (json.contains("checks")) rows.add_checks(read_checks(json["checks"]));
  rows.made_by = read_text(json, "made_by", "");
  if (json.contains("memory_rates")) rows.memory_rates = read_memory_rates(json["memory_rates"]);
}

KernelTable read_one_kind(const Json& json) {
  require_known(json, kCostFile.name, {"format", "hash", "device", "kernels", "checks"});
  KernelTable table;
  read_rows(json, "", table.of(read_text(member(json, "device"), "'device'")));
  return table;
}

KernelTable read_kinds(const Json& json) {
  require_known(json, kCostFile.name, {"format", "hash", "devices"});
  KernelTable table;
  for (const auto& [kind, rows] : require_object(member(json, "devices"), "'devices'").items()) {
    std::string where = fmt::format("the device '{}'", shortened(kind));
    require_known(rows, where, {"made_by", "memory_rates", "kernels", "checks"});
    read_rows(rows, where, table.of(kind));
  }
  return table;
}

KernelTable read_table(const Json& json) {
  if (!json.contains("format"))
    refuse_because(json, "has no 'format'; check that this file is costs.json of a run");
  const Json& format = json["format"];
  if (format == kOneKindFormat) return read_one_kind(json);
  if (format == kCostsFormat || format == kBareFormat) return read_kinds(json);
  refuse_because(format,
                 fmt::format("has the format {}; this version reads \"{}\", \"{}\" and \"{}\"",
                             shortened(format.dump()), kOneKindFormat, kBareFormat, kCostsFormat));
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
  return read_file<Json>(text, kCostFile, read_table);
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
