// Averages steps between two reports and passes reports on to Progress and metrics.jsonl.
#pragma once

#include <chrono>
#include <optional>

#include "train/metrics_log.h"
#include "train/progress.h"
#include "train/slow_steps.h"
#include "train/step_drift.h"
#include "train/step_runner.h"

namespace troika {

/// Position of the run after a step.
struct ReportPoint {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double epoch = 0;
  std::int64_t samples = 0;
  double learning_rate = 0;
  double waited_seconds = 0;  ///< Waiting for samples, since the start of the process.
  bool is_predicted = true;   ///< The prediction given to watch() is for this batch size.
};

/// Used by one thread.
class RunReporter {
 public:
  struct Setting {
    Progress& progress;   ///< Borrowed.
    std::size_t devices;  ///< Devices of this process.
    std::optional<std::int64_t> tokens_per_sample{};
  };
  explicit RunReporter(const Setting& setting) : setting_(setting) {}

  /// Called before the first step. `metrics` is borrowed and may be null. `spent` is the training
  /// time of earlier processes, in seconds.
  void begin(MetricsLog* metrics, double spent);
  /// Compares steps of so many samples with a prediction from now on, and warns if they are much
  /// slower.
  void watch(std::chrono::nanoseconds predicted_step, std::int64_t samples);
  /// How far the steps since watch() are from the prediction, if that is worth mentioning.
  std::optional<StepDrift> drift() const;

  void add(const StepResult& step);
  bool has_steps() const { return tally_.steps > 0; }
  /// The mean loss since the last report; absent if there was no step.
  std::optional<double> loss() const;

  /// Returns what a report would contain now.
  StepReport so_far(const ReportPoint& point) const;
  /// Reports and starts a new average. Returns the mean loss.
  double report(const ReportPoint& point);
  void report(EvaluationReport report);

  /// Training time of the run so far.
  double seconds() const;

  /// Excludes the time of its lifetime (a save, an evaluation) from the step times.
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
  double start_seconds_ = 0;  // start of the run, moved by the time that earlier processes spent
  Tally tally_;               // since the last report
  double step_start_seconds_ = 0;
  std::optional<SlowSteps> slow_steps_;
  std::optional<StepDriftWatch> drift_;
};

}  // namespace troika
