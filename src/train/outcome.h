// How far a training run has come, and why it ended.
#pragma once

#include <optional>
#include <vector>

#include "config/condition.h"
#include "train/progress.h"

namespace troika {

struct TrainOutcome {
  std::int64_t step = 0;
  std::optional<double> loss{};                 ///< As last reported; absent before any step.
  std::vector<EvaluationReport> evaluations{};  ///< The last one of each set.
  bool interrupted = false;                     ///< By stop_requested or the stop file.
  bool reached_target = false;                  ///< What [train] until asks for.
  bool stopped_early = false;                   ///< By [train] patience.
  double seconds = 0;                           ///< Spent in this call.

  bool is_ended() const { return interrupted || reached_target || stopped_early; }
  /// Replaces the last evaluation of that set.
  void add(const EvaluationReport& report);
  /// Null if that set was not evaluated.
  const EvaluationReport* evaluation(Metric::Set set) const;
  /// Absent if it was not measured.
  std::optional<double> value_of(const Metric& metric) const;
};

bool is_target_reached(const std::optional<Condition>& until, const TrainOutcome& outcome);

/// Whether `value` is better than `best`; an absent best is worse than any number.
bool is_better(const Metric& metric, double value, std::optional<double> best);

}  // namespace troika
