// The one sink for messages: four levels, passed in the context, never global. The library only
// logs; where it goes (terminal, logs/rank-N) is decided in main.
#pragma once

#include <functional>
#include <string>

namespace troika {

enum class LogLevel { debug, info, warning, error };

/// Thread-safe implementations only: executors and prefetch threads log too.
class Log {
 public:
  virtual ~Log() = default;
  virtual bool enabled(LogLevel level) const = 0;
  virtual void write(LogLevel level, const std::string& message) = 0;

  /// Builds the message only when someone will see it.
  void at(LogLevel level, const std::function<std::string()>& message) {
    if (enabled(level)) write(level, message());
  }
};

/// Drops everything: for tests and for callers that do not care.
class NullLog final : public Log {
 public:
  bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, const std::string&) override {}
};

}  // namespace troika
