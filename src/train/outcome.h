// The outcome of a training run: the last results and why it ended.
#pragma once

#include <optional>
#include <vector>

#include "config/condition.h"
#include "train/progress.h"
#include "train/step_drift.h"

namespace troika {

struct TrainOutcome {
  std::int64_t step = 0;
  std::optional<double> loss{};                 ///< As last reported; absent before any step.
  std::vector<EvaluationReport> evaluations{};  ///< The last one of each set.
  bool interrupted = false;                     ///< Stopped by stop_requested or the stop file.
  bool reached_target = false;                  ///< train.until holds.
  bool stopped_early = false;                   ///< Stopped by train.patience.
  double seconds = 0;                           ///< Time spent in this call.
  std::optional<StepDrift> drift{};             ///< Steps took another time than predicted.

  bool is_ended() const { return interrupted || reached_target || stopped_early; }
  /// Replaces the last evaluation of that set.
  void add(const EvaluationReport& report);
  /// Returns the last evaluation of the set; null if it was not evaluated.
  const EvaluationReport* evaluation(Metric::Set set) const;
  /// Returns the last value of the metric; absent if it was not measured.
  std::optional<double> value_of(const Metric& metric) const;
};

bool is_target_reached(const std::optional<Condition>& until, const TrainOutcome& outcome);

/// Returns true if `value` is better than `best`; an absent best is worse than any number.
bool is_better(const Metric& metric, double value, std::optional<double> best);

}  // namespace troika
