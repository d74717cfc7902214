// The only sink for messages: four levels, passed in the context, never global. The library only
// logs; main decides where the messages go (terminal, logs/rank-N).
#pragma once

#include <functional>
#include <string>

namespace troika {

enum class LogLevel { debug, info, warning, error };

/// Implementations must be thread-safe: executors and prefetch threads log too.
class Log {
 public:
  virtual ~Log() = default;
  virtual bool enabled(LogLevel level) const = 0;
  virtual void write(LogLevel level, const std::string& message) = 0;

  /// Calls `message` only if the level is enabled.
  void at(LogLevel level, const std::function<std::string()>& message) {
    if (enabled(level)) write(level, message());
  }
};

/// Drops every message.
class NullLog final : public Log {
 public:
  bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, const std::string&) override {}
};

}  // namespace troika
