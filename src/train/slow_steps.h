// Why steps take much longer than was predicted: what the system did to this process meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace troika {

/// Counters of the system at one moment. What it does not tell stays 0.
struct SystemLoad {
  std::chrono::nanoseconds at{};         ///< Of the steady clock.
  std::chrono::nanoseconds ran{};        ///< CPU time of this process's threads,
  std::chrono::nanoseconds queued{};     ///< and how long they waited for a core, all together.
  std::chrono::nanoseconds used{};       ///< CPU time of all processes on the cores of this one.
  std::chrono::nanoseconds throttled{};  ///< By the CPU quota of a control group.
  std::chrono::nanoseconds stolen{};     ///< From all cores, by other virtual machines.
  std::int64_t pages_read{};             ///< Page faults that read from disk.
  double frequency = 0,
         top_frequency = 0;  ///< Of the slowest core now, and what it may reach; kHz.
  double runnable = 0;       ///< Load average of the last minute.
};

/// Reads /proc and /sys below `root`.
SystemLoad read_system_load(const std::filesystem::path& root = "/");

/// Explains why steps between two moments were slow ("other processes took 40 % …"); empty where
/// nothing happened that explains it.
std::string explain_slowness(const SystemLoad& before, const SystemLoad& after);

/// Steps that take longer than this many times the prediction are worth a warning.
inline constexpr double kSlowStep = 3;

/// Some steps of a run, as they were reported.
struct ReportedSteps {
  std::int64_t steps = 0;
  std::chrono::nanoseconds taken{};
  double data_wait = 0;           ///< Share of the time spent waiting for samples,
  double communication_wait = 0;  ///< and for messages.
};

/// Watches the steps of a run and warns once. Used by one thread.
class SlowSteps {
 public:
  /// From now on, with steps predicted to take so long.
  void begin(std::chrono::nanoseconds predicted, const SystemLoad& now);
  /// The warning that is due after these steps, or nothing. Where no cause is found there is none:
  /// the prediction may be wrong, which a user can do nothing about.
  std::string check(const ReportedSteps& more, const std::filesystem::path& root = "/");

 private:
  std::chrono::nanoseconds predicted_{};
  SystemLoad before_;
  ReportedSteps since_;  // steps and time since before_
  bool has_warned_ = false;
};

}  // namespace troika
