// Text and JSON of a run beside its prediction.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_comparison.h"
#include "cli/text_table.h"

namespace troika::cli {
namespace {

constexpr std::size_t kShownKinds = 20;

double error_of(const RunComparison& comparison) {
  double measured = static_cast<double>(std::max<std::int64_t>(comparison.measured.count, 1));
  return static_cast<double>(comparison.predicted.count) / measured - 1;
}

std::string work_table(const RunComparison& comparison) {
  std::vector<std::vector<std::string>> rows{
      {"work of a device", "tasks", "predicted ms", "measured ms", "difference", "cause"}};
  std::size_t shown = std::min(comparison.work.size(), kShownKinds);
  for (const ComparedWork& work : std::span(comparison.work).first(shown))
    rows.push_back({work.kind, work.tasks > 0 ? std::to_string(work.tasks) : "",
                    ms_text(work.predicted), ms_text(work.measured),
                    fmt::format("{:+.3f}", milliseconds(work.difference())), work.cause});
  std::string text = format_rows(rows, {0, 5});
  if (shown < comparison.work.size())
    text += fmt::format("  and {} more kinds with smaller differences; --json has them all\n",
                        comparison.work.size() - shown);
  return text;
}

std::string device_table(const RunComparison& comparison) {
  std::vector<std::vector<std::string>> rows{
      {"device", "kernels ms", "measured", "messages ms", "measured", "rest ms", "measured"}};
  for (const ComparedDevice& device : comparison.devices)
    rows.push_back({std::to_string(device.device.value), ms_text(device.predicted_busy),
                    ms_text(device.measured_busy), ms_text(device.predicted_waiting),
                    ms_text(device.measured_waiting), ms_text(device.predicted_other),
                    ms_text(device.measured_other)});
  return format_rows(rows);
}

std::string links_table(const RunComparison& comparison) {
  if (comparison.links.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"messages over", "bytes sent", "predicted wait ms", "measured wait ms"}};
  for (const ComparedLinks& links : comparison.links)
    rows.push_back({std::string(troika::to_string(links.kind)), troika::to_string(links.sent),
                    ms_text(links.predicted), ms_text(links.measured)});
  return format_rows(rows) + "\n";
}

}  // namespace

std::string to_text(const RunComparison& comparison) {
  std::string text = format_facts(
      {{"run", comparison.run},
       {"predicted step", to_string(comparison.predicted)},
       {"measured step", to_string(comparison.measured)},
       {"error", fmt::format("{:+.1f} % of the measured step", error_of(comparison) * 100)}});
  text += "\n" + work_table(comparison) + "\n" + device_table(comparison) + "\n" +
          links_table(comparison);
  for (const std::string& note : comparison.notes) text += note + "\n";
  return text;
}

std::string to_json_text(const RunComparison& comparison) {
  nlohmann::ordered_json json{{"run", comparison.run},
                              {"predicted_ms", milliseconds(comparison.predicted)},
                              {"measured_ms", milliseconds(comparison.measured)},
                              {"error", error_of(comparison)}};
  for (const ComparedWork& work : comparison.work)
    json["work"].push_back({{"kind", work.kind},
                            {"tasks", work.tasks},
                            {"predicted_ms", milliseconds(work.predicted)},
                            {"measured_ms", milliseconds(work.measured)},
                            {"cause", work.cause}});
  for (const ComparedDevice& device : comparison.devices)
    json["devices"].push_back({{"device", device.device.value},
                               {"kernels_ms",
                                {{"predicted", milliseconds(device.predicted_busy)},
                                 {"measured", milliseconds(device.measured_busy)}}},
                               {"messages_ms",
                                {{"predicted", milliseconds(device.predicted_waiting)},
                                 {"measured", milliseconds(device.measured_waiting)}}},
                               {"rest_ms",
                                {{"predicted", milliseconds(device.predicted_other)},
                                 {"measured", milliseconds(device.measured_other)}}}});
  for (const ComparedLinks& links : comparison.links)
    json["links"].push_back({{"kind", troika::to_string(links.kind)},
                             {"sent_bytes", links.sent.count},
                             {"predicted_wait_ms", milliseconds(links.predicted)},
                             {"measured_wait_ms", milliseconds(links.measured)}});
  json["unknown_tasks"] = comparison.unknown_tasks;
  json["notes"] = comparison.notes;
  return json.dump();
}

}  // namespace troika::cli
