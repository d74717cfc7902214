// metrics.jsonl: one JSON object per logged step or evaluation, appended and flushed line by line.
#pragma once

#include "base/durable_file.h"
#include "train/progress.h"
#include "train/run_folder.h"

namespace troika {

class MetricsLog {
 public:
  /// Keeps the lines of steps up to `keep_through` (a resumed run writes the later ones again) and
  /// appends after them. Borrows the folder. This and the writes throw Error(file) if the disk
  /// reports an error or another process has become the writer.
  MetricsLog(const RunFolder& folder, std::int64_t keep_through);

  void write(const StepReport& report);
  void write(const EvaluationReport& report);

 private:
  void write_line(const std::string& line);

  const RunFolder& folder_;
  OutputFile file_;
};

}  // namespace troika
