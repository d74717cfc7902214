#include "cli/rank_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace troika::cli {
namespace {

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "";
}

}  // namespace

RankLog::RankLog(const std::filesystem::path& path, std::function<bool()> is_over)
    : is_over_(std::move(is_over)) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  file_.open(path, std::ios::app);
  if (!file_)
    throw Error(
        ErrorKind::file,
        fmt::format("cannot write '{}'; check the path and its permissions", path.string()));
}

void RankLog::write(LogLevel level, const std::string& message) {
  std::string now = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)));
  Lock lock(mutex_);
  if (is_over_ && is_over_()) return;  // the last words stay the last ones
  file_ << fmt::format("{} {}: {}\n", now, name_of(level), printable(message)) << std::flush;
}

}  // namespace troika::cli
