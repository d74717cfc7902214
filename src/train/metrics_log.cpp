#include "train/metrics_log.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace troika {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the complete lines up to `last_step`. A line cut short by a crash is dropped.
std::string lines_through(const std::filesystem::path& path, std::int64_t last_step) {
  std::ifstream old(path);
  std::string kept;
  for (std::string line; std::getline(old, line);) {
    Json json = Json::parse(line, nullptr, false);
    // Later steps are repeated by the resumed run and would appear twice.
    bool counted = json.is_object() && json.contains("step") && json["step"].is_number_integer();
    if (counted && json["step"] <= last_step) kept += line + "\n";
  }
  return kept;
}

/// Replaces the file by one with only the lines to keep, and returns its path. RunFolder::write is
/// atomic, so a crash leaves the old file or the new one.
std::filesystem::path cut_back(const RunFolder& folder, std::int64_t keep_through) {
  std::filesystem::path path = folder.metrics();
  folder.write(path.filename(), keep_through > 0 ? lines_through(path, keep_through) : "");
  return path;
}

}  // namespace

MetricsLog::MetricsLog(const RunFolder& folder, std::int64_t keep_through)
    : folder_(folder), file_(cut_back(folder, keep_through), OutputFile::Content::appended) {}

void MetricsLog::write(const StepReport& report) {
  Json json{{"step", report.step},
            {"epoch", report.epoch},
            {"seconds", report.seconds},
            {"samples", report.samples},
            {"loss", report.loss},
            {"learning_rate", report.learning_rate},
            {"samples_per_second", report.samples_per_second},
            {"step_ms", report.step_ms},
            {"data_wait", report.data_wait},
            {"communication_wait", report.communication_wait},
            {"shares",
             {{"compute", report.shares.compute},
              {"optimizer", report.shares.optimizer},
              {"moving", report.shares.moving},
              {"waiting", report.shares.waiting},
              {"data", report.shares.data},
              {"other", report.shares.other}}}};
  if (report.tokens_per_second) json["tokens_per_second"] = *report.tokens_per_second;
  for (const auto& [name, value] : report.more) json[name + "_loss"] = value;
  write_line(json.dump());
}

void MetricsLog::write(const EvaluationReport& report) {
  Json json{{"step", report.step}, {"epoch", report.epoch}, {"seconds", report.seconds}};
  for (const auto& [name, value] : named_figures(report.set, report.figures)) json[name] = value;
  write_line(json.dump());
}

void MetricsLog::write_line(const std::string& line) {
  folder_.require_writer();
  file_.write(line + "\n");
}

}  // namespace troika
