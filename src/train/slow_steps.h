// Explains steps that are much slower than predicted, from counters of the operating system.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace troika {

/// Counters of the system at one moment; 0 if the system does not provide them.
struct SystemLoad {
  std::chrono::nanoseconds at{};         ///< Time of the steady clock.
  std::chrono::nanoseconds ran{};        ///< CPU time of all threads of this process.
  std::chrono::nanoseconds queued{};     ///< Time these threads were ready but had no core.
  std::chrono::nanoseconds used{};       ///< CPU time of all processes on this process's cores.
  std::chrono::nanoseconds throttled{};  ///< Time stopped by the CPU quota of a control group.
  std::chrono::nanoseconds stolen{};     ///< Time taken from all cores by other virtual machines.
  std::int64_t pages_read{};             ///< Page faults that read from disk.
  double frequency = 0;                  ///< Of the slowest core, in kHz.
  double top_frequency = 0;              ///< The highest that core may reach, in kHz.
  double runnable = 0;                   ///< Load average of the last minute.
};

/// Reads /proc and /sys below `root`.
SystemLoad read_system_load(const std::filesystem::path& root = "/");

/// Explains why steps between two moments were slow ("other processes took 40 % …"); empty if no
/// counter explains it.
std::string explain_slowness(const SystemLoad& before, const SystemLoad& after);

/// Steps that take longer than this many times the prediction cause a warning. The margin covers
/// errors of the prediction and short disturbances.
inline constexpr double kSlowStep = 3;

/// A reported group of steps.
struct ReportedSteps {
  std::int64_t steps = 0;
  std::chrono::nanoseconds taken{};
  double data_wait = 0;           ///< Share of the time spent waiting for samples.
  double communication_wait = 0;  ///< The same for messages.
};

/// Watches the steps of a run and warns at most once. Used by one thread.
class SlowSteps {
 public:
  /// Starts watching steps that are predicted to take `predicted`.
  void begin(std::chrono::nanoseconds predicted, const SystemLoad& now);
  /// Returns a warning if the steps are slow and the cause is known, else nothing. Without a known
  /// cause the prediction may be wrong, which a user cannot change.
  std::string check(const ReportedSteps& more, const std::filesystem::path& root = "/");

 private:
  std::chrono::nanoseconds predicted_{};
  SystemLoad before_;
  ReportedSteps since_;  // sums since before_
  bool has_warned_ = false;
};

}  // namespace troika
