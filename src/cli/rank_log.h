// logs/rank-N of a run folder: every line that a rank reported, with its time.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/log.h"
#include "base/mutex.h"

namespace troika::cli {

/// Appends and flushes line by line. Thread-safe.
class RankLog final : public Log {
 public:
  /// Throws Error(file) when the file cannot be opened. Later write errors are ignored: a full disk
  /// must not end a run because of its log. Once `is_over` returns true nothing more is written.
  explicit RankLog(const std::filesystem::path& path, std::function<bool()> is_over = {});

  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel level, const std::string& message) override;

 private:
  const std::function<bool()> is_over_;
  Mutex mutex_;
  std::ofstream file_ TROIKA_GUARDED_BY(mutex_);
};

}  // namespace troika::cli
