// Cost files and data sets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/inspection.h"
#include "cli/text_table.h"
#include "cost/link_costs.h"
#include "cost/table_json.h"
#include "data/dataset.h"
#include "data/idx.h"
#include "data/npy.h"
#include "setup/hosts.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// "measured": when, how often, how far apart, and beside how many devices.
void add_timings(const KernelRows& rows, std::vector<Fact>& facts) {
  std::set<std::string> dates;
  std::set<std::int32_t> at_once;
  std::vector<double> spreads;
  std::int64_t launches = 0;
  for (const KernelRows::Row& row : rows.rows()) {
    for (const Candidate& candidate : row.candidates) {
      if (!candidate.timing || !candidate.time) continue;
      dates.insert(candidate.timing->date);
      at_once.insert(candidate.timing->at.at_once);
      launches += candidate.timing->repeats;
      spreads.push_back(static_cast<double>(candidate.timing->spread.count) /
                        static_cast<double>(std::max<std::int64_t>(1, candidate.time->count)));
    }
  }
  if (spreads.empty()) return;
  auto middle = spreads.begin() + std::ssize(spreads) / 2;
  std::nth_element(spreads.begin(), middle, spreads.end());
  facts.push_back({"measured", fmt::format("{} to {}", *dates.begin(), *dates.rbegin())});
  facts.push_back({"launches", fmt::format("{}, median spread {}", launches, percent(*middle))});
  facts.push_back({"devices at once", fmt::format("{}", fmt::join(at_once, ", "))});
}

Inspection inspect_costs(const std::string& text, const Json& json) {
  KernelTable table = parse_costs(text);  // refuses a damaged file with the line
  std::size_t rows = 0, candidates = 0;
  Inspection found{.kind = "cost file"};
  auto add = [&](const std::string& device, const Json& kernels) {
    const KernelRows& own = table.of(device);
    found.facts.push_back({"device", device});
    if (!own.made_by.empty()) found.facts.push_back({"made by", own.made_by});
    add_timings(own, found.facts);
    for (const auto& [devices, rate] : own.memory_rates)
      found.facts.push_back({fmt::format("memory, {} at once", devices),
                             fmt::format("{:.1f} GB/s each", rate / 1e9)});
    // Of the file itself: rows whose keys are of another version count as well.
    rows += kernels.size();
    for (const auto& row : kernels) candidates += row.size();
  };
  if (json.contains("devices"))
    for (const auto& [device, own] : json["devices"].items()) add(device, own.at("kernels"));
  else  // a file of one kind of device, as earlier versions wrote it
    add(json.at("device"), json.at("kernels"));
  found.facts.push_back({"kernel table", json.at("hash")});
  found.facts.push_back({"rows", std::to_string(rows)});
  found.facts.push_back({"candidates", std::to_string(candidates)});
  return found;
}

std::string rate(double nanoseconds_per_byte) {
  return nanoseconds_per_byte > 0 ? fmt::format("{:.2f} GB/s", 1 / nanoseconds_per_byte) : "free";
}

Inspection inspect_links(const std::string& text) {
  LinkCosts costs = parse_link_costs(text);
  const Provenance& provenance = costs.provenance;
  Inspection found{.kind = "link costs",
                   .facts = {{"source", provenance.source},
                             {"machine", provenance.machine},
                             {"date", provenance.date},
                             {"method", provenance.method},
                             {"measured algorithms", std::to_string(costs.measured.size())}},
                   .rows = {{"link", "alpha", "1/beta", "1/gamma", "sizes", "origin"}}};
  for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network}) {
    const LinkCost& link = costs[kind];
    found.rows.push_back({std::string(to_string(kind)), fmt::format("{:.0f} ns", link.alpha),
                          rate(link.beta), rate(link.gamma),
                          std::to_string(link.message_times.points.size()),
                          link.origin.empty() ? "assumed" : link.origin});
  }
  return found;
}

/// The top-level values of a document of no known kind.
Inspection inspect_object(const Json& json) {
  Inspection found{.kind = json.contains("traceEvents") ? "Chrome trace" : "JSON document"};
  if (json.contains("traceEvents"))
    found.facts.push_back({"events", with_commas(std::ssize(json["traceEvents"]))});
  for (const auto& [name, value] : json.items())
    if (value.is_primitive())
      found.facts.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  return found;
}

/// Refuses a text of brackets before the document takes many times its size in memory.
Json parse_shallow(const std::string& text) {
  static constexpr int kMostLevels = 64;
  return Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
    if (depth <= kMostLevels) return true;
    throw Error(ErrorKind::file, fmt::format("it nests deeper than {} levels", kMostLevels));
  });
}

Inspection inspect_parsed(const std::string& text, const Json& json, const fs::path& folder) {
  bool has_format = json.is_object() && json.contains("format") && json["format"].is_string();
  std::string format = has_format ? json["format"].get<std::string>() : "";
  if (format.starts_with("troika plan")) return inspect_plan(text, folder);
  if (format.starts_with("troika costs")) return inspect_costs(text, json);
  if (format.starts_with("troika links")) return inspect_links(text);
  if (json.is_array())
    return {.kind = "JSON document", .facts = {{"elements", std::to_string(json.size())}}};
  return inspect_object(json);
}

}  // namespace

Inspection inspect_json(const fs::path& path) try {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return inspect_parsed(text.str(), parse_shallow(text.str()), fs::absolute(path).parent_path());
} catch (const Json::exception& error) {
  throw Error(ErrorKind::file,
              fmt::format("'{}' cannot be read: {}", path.string(), json_reason(error.what())));
} catch (const Error& error) {
  throw error.within(path.string());
}

std::vector<Fact> facts_of(const data::Encoding& encoding) {
  std::vector<Fact> facts;
  for (const data::Field& field : encoding.fields)
    facts.push_back({field.name, to_string(field.spec)});
  bool counts_tokens = encoding.characters || encoding.target_words;
  if (!encoding.predicts_numbers())
    facts.push_back({counts_tokens ? "vocabulary" : "classes", with_commas(encoding.classes)});
  if (encoding.words) {
    const char* name = encoding.target_words ? "source vocabulary" : "vocabulary";
    facts.push_back({name, with_commas(encoding.words->size())});
  }
  if (!encoding.labels.empty())
    facts.push_back({"labels", fmt::format("{}", fmt::join(encoding.labels, ", "))});
  if (!encoding.columns.empty())
    facts.push_back({"columns", fmt::format("{}", fmt::join(encoding.columns, ", "))});
  if (!encoding.targets.empty())
    facts.push_back({"targets", fmt::format("{}", fmt::join(encoding.targets, ", "))});
  if (encoding.normalization) {
    const data::Normalization& normalization = *encoding.normalization;
    facts.push_back({"mean", fmt::format("{:.4f}", fmt::join(normalization.mean, ", "))});
    facts.push_back({"deviation", fmt::format("{:.4f}", fmt::join(normalization.deviation, ", "))});
  }
  return facts;
}

namespace {

/// Samples per class, if classes have names.
std::vector<std::vector<std::string>> class_rows(const data::Dataset& dataset) {
  std::vector<std::int64_t> sizes = dataset.class_sizes();
  if (sizes.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"class", "samples"}};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    rows.push_back({dataset.encoding().labels[i], with_commas(sizes[i])});
  return rows;
}

}  // namespace

Inspection inspect_dataset(const std::string& uri) {
  std::unique_ptr<data::Dataset> dataset = data::open(uri, {.threads = usable_threads()});
  Inspection found{.kind = "data set",
                   .facts = {{"name", uri}, {"samples", with_commas(dataset->size())}}};
  std::vector<Fact> more = facts_of(dataset->encoding());
  found.facts.insert(found.facts.end(), more.begin(), more.end());
  found.rows = class_rows(*dataset);
  return found;
}

Inspection inspect_array(const fs::path& file, const std::string& kind) {
  bool is_npy = kind.starts_with("npy");
  data::ArrayFile array = is_npy ? data::read_npy(file.string()) : data::read_idx(file.string());
  check_size(array);
  constexpr const char* kNames[] = {"u8", "i32", "i64", "f32", "f64"};
  return {.kind = kind,
          .facts = {{"element", kNames[static_cast<std::size_t>(array.element)]},
                    {"shape", to_string(array.shape)}}};
}

}  // namespace troika::cli
