#include "cli/measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/number_text.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestTrace = std::size_t{1} << 30;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::file, fmt::format("{}: {}", file.string(), why));
}

Json parse(const fs::path& file) {
  Json json = Json::parse(read_small_file(file, kLargestTrace), nullptr, false);
  if (!json.is_object()) refuse(file, "the file is not a JSON object; restore the original");
  return json;
}

/// "3.17"
TaskId parse_id(const std::string& text) {
  std::size_t dot = text.find('.');
  if (dot == std::string::npos) return {};
  std::string_view all = text;
  return {parse_number<std::int32_t>(all.substr(0, dot)).value_or(-1),
          parse_number<std::int32_t>(all.substr(dot + 1)).value_or(-1)};
}

SimTime nanoseconds(const Json& microseconds) {
  return {std::llround(microseconds.get<double>() * 1e3)};
}

Span span_of(const Json& event) {
  SimTime start = nanoseconds(event.at("ts"));
  return {parse_id(event.at("args").at("id").get<std::string>()),
          DeviceId(event.at("tid").get<std::size_t>()), start,
          start + nanoseconds(event.at("dur"))};
}

/// The rows that are called "measured".
Timeline read_trace(const fs::path& file) try {
  if (!fs::exists(file))
    refuse(file,
           "the run has no trace; it is written when a run ends, so let it end or stop it "
           "with Ctrl-C");
  Json json = parse(file);
  Json process;
  Timeline timeline;
  for (const Json& event : json.at("traceEvents")) {
    if (event.at("ph") == "M" && event.at("args").at("name") == "measured")
      process = event.at("pid");
    if (event.at("ph") == "X" && event.at("pid") == process)
      timeline.spans.push_back(span_of(event));
  }
  if (timeline.spans.empty()) refuse(file, "no measured step is in the trace");
  return timeline;
} catch (const Json::exception& error) {
  refuse(file, fmt::format("this is not a trace of a run ({})", error.what()));
}

/// The median of the reported times of a step.
SimTime read_period(const fs::path& file) {
  std::vector<double> all;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("step_ms") && json["step_ms"].is_number())
      all.push_back(json["step_ms"].get<double>());
  }
  if (all.empty()) return {};
  std::ranges::nth_element(all, all.begin() + std::ssize(all) / 2);
  return {std::llround(all[all.size() / 2] * 1e6)};
}

int read_ranks(const fs::path& file) {
  if (!fs::exists(file)) return 1;
  Json json = parse(file);
  bool knows = json.contains("ranks") && json["ranks"].is_number_integer();  // since version 0.1
  return knows ? std::max(1, json["ranks"].get<int>()) : 1;
}

}  // namespace

MeasuredStep read_measured_step(const fs::path& run) {
  return {.timeline = read_trace(run / "trace.json"),
          .period = read_period(run / "metrics.jsonl"),
          .ranks = read_ranks(run / "env.json")};
}

}  // namespace troika::cli
