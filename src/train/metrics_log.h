// metrics.jsonl: one JSON object per logged step or evaluation, appended and flushed line by line.
#pragma once

#include <filesystem>
#include <fstream>

#include "train/progress.h"

namespace troika {

class MetricsLog {
 public:
  /// Keeps the lines of steps up to `keep_through` (a resumed run writes the later ones again) and
  /// appends behind them. Throws Error(file).
  MetricsLog(const std::filesystem::path& path, std::int64_t keep_through);

  void write(const StepReport& report);
  void write(const EvaluationReport& report);

 private:
  void write_line(const std::string& line);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace troika
