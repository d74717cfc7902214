#include "cli/measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
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

/// Rows of a trace are numbered by device. Larger numbers do not fit into a DeviceId.
DeviceId device_of(const Json& event, const fs::path& file) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  const Json& row = event.at("tid");
  bool fits = row.is_number_integer() && row.get<std::int64_t>() >= 0 &&
              row.get<std::int64_t>() <= kLargest;
  if (!fits)
    refuse(file, fmt::format("'tid' is {}, which is not the number of a device", row.dump()));
  return DeviceId(row.get<std::size_t>());
}

Span span_of(const Json& event, const fs::path& file) {
  SimTime start = nanoseconds(event.at("ts"));
  return {parse_id(event.at("args").at("id").get<std::string>()), device_of(event, file), start,
          start + nanoseconds(event.at("dur"))};
}

/// Since version 0.1.
TracedPart part_of(const Json& trace) {
  if (!trace.contains("otherData")) return {};
  const Json& about = trace["otherData"];
  auto text = [&](const char* name) { return about.value(name, std::string()); };
  auto number = [&](const char* name) {
    return parse_number<std::int64_t>(text(name)).value_or(0);
  };
  return {text("plan_hash"), number("ranks"), number("first_step"), number("last_step"),
          number("batch")};
}

/// The rows that are called "measured".
Timeline timeline_of(const Json& json, const fs::path& file) {
  Json process;
  Timeline timeline;
  for (const Json& event : json.at("traceEvents")) {
    if (event.at("ph") == "M" && event.at("args").at("name") == "measured")
      process = event.at("pid");
    if (event.at("ph") == "X" && event.at("pid") == process)
      timeline.spans.push_back(span_of(event, file));
  }
  if (timeline.spans.empty()) refuse(file, "no measured step is in the trace");
  return timeline;
}

MeasuredStep read_trace(const fs::path& file) try {
  if (!fs::exists(file))
    refuse(file,
           "the run has no trace; it is written when a run ends, so let it end or stop it "
           "with Ctrl-C");
  Json json = parse(file);
  return {.timeline = timeline_of(json, file), .part = part_of(json)};
} catch (const Json::exception& error) {
  refuse(file, fmt::format("this is not a trace of a run ({})", error.what()));
}

/// A line of metrics.jsonl that reports steps.
struct ReportedSteps {
  std::int64_t step = 0, samples = 0;  // of the run so far
  double step_ms = 0;
};

std::vector<ReportedSteps> read_reports(const fs::path& file) {
  std::vector<ReportedSteps> reports;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step_ms") || !json["step_ms"].is_number()) continue;
    auto whole = [&](const char* name) {
      return json.contains(name) && json[name].is_number_integer() ? json[name].get<std::int64_t>()
                                                                   : 0;
    };
    reports.push_back({whole("step"), whole("samples"), json["step_ms"]});
  }
  return reports;
}

/// The times of steps that ran in this part of the run with its last batch. Reports over a change
/// of the batch are left out.
std::vector<double> times_in(const TracedPart& part, const std::vector<ReportedSteps>& reports) {
  std::vector<double> times;
  ReportedSteps before;
  for (const ReportedSteps& report : reports) {
    bool is_inside =
        part.last_step == 0 || (report.step > part.first_step && report.step <= part.last_step);
    bool has_batch = part.batch == 0 ||
                     report.samples - before.samples == (report.step - before.step) * part.batch;
    if (is_inside && has_batch) times.push_back(report.step_ms);
    before = report;
  }
  return times;
}

SimTime median_time(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return {};
  auto middle = milliseconds.begin() + std::ssize(milliseconds) / 2;
  std::ranges::nth_element(milliseconds, middle);
  return {std::llround(*middle * 1e6)};
}

}  // namespace

MeasuredStep read_measured_step(const fs::path& run) {
  MeasuredStep step = read_trace(run / "trace.json");
  step.period = median_time(times_in(step.part, read_reports(run / "metrics.jsonl")));
  return step;
}

}  // namespace troika::cli
