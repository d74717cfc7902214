// What a run tells while it trains: reports of steps and evaluations, to people and to
// metrics.jsonl.
#pragma once

#include <chrono>
#include <optional>

#include "train/metrics_log.h"
#include "train/progress.h"
#include "train/slow_steps.h"
#include "train/step_runner.h"

namespace troika {

/// Where the run stands after a step.
struct ReportPoint {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double epoch = 0;
  std::int64_t samples = 0;
  double learning_rate = 0;
  double waited_seconds = 0;  ///< For data, since the start of the process.
  bool is_predicted = true;   ///< Whether the prediction given to watch() is for these steps.
};

/// Adds up steps between two reports. Used by one thread.
class RunReporter {
 public:
  struct Setting {
    Progress& progress;   ///< Borrowed.
    std::size_t devices;  ///< Of this process.
    std::optional<std::int64_t> tokens_per_sample{};
  };
  explicit RunReporter(const Setting& setting) : setting_(setting) {}

  /// Before the first step; `metrics`, borrowed, may be null. `spent` is the time that earlier
  /// processes put into the run.
  void begin(MetricsLog* metrics, double spent);
  /// Holds the steps against a prediction from now on.
  void watch(std::chrono::nanoseconds predicted_step);

  void add(const StepResult& step);
  bool has_steps() const { return tally_.steps > 0; }
  /// The mean loss since the last report; absent if there was no step.
  std::optional<double> loss() const;

  /// What would be reported now.
  StepReport so_far(const ReportPoint& point) const;
  /// Reports, and starts to add up anew. Returns the mean loss.
  double report(const ReportPoint& point);
  void report(EvaluationReport report);

  /// Spent on the run so far.
  double seconds() const;

  /// While it lives, time passes outside of steps and does not count as theirs: saves, evaluations.
  class Pause {
   public:
    explicit Pause(RunReporter& reporter);
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();

   private:
    RunReporter& reporter_;
    double entered_;
  };

 private:
  void warn_if_slow(const StepReport& report);

  struct Tally {
    double loss = 0;
    std::map<std::string, double> more{};
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double start_seconds = 0;
    double waited_seconds = 0;
    StepLedger ledger{};
    std::chrono::nanoseconds messages{};
  };

  const Setting setting_;
  MetricsLog* metrics_ = nullptr;
  double start_seconds_ = 0;  // of the run, as if there had been no other process
  Tally tally_;               // since the last report
  std::optional<SlowSteps> slow_steps_;
};

}  // namespace troika
