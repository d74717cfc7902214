// Hands the reports of a training run to the user's callbacks.
#pragma once

#include <troika/training.h>

#include "train/progress.h"

namespace troika::internal {

inline Score to_score(const Figures& figures, std::int64_t samples) {
  return {.loss = find(figures, Metric::Measure::loss).value_or(0),
          .accuracy = find(figures, Metric::Measure::accuracy),
          .absolute_error = find(figures, Metric::Measure::absolute_error),
          .samples = samples};
}

class FitCallbacks final : public Progress {
 public:
  /// Must be called before a run reports anything. Borrowed until the next call.
  void listen_to(const FitOptions& options) { options_ = &options; }

  void step(const StepReport& report) override {
    if (!options_->on_step) return;
    options_->on_step({report.step, report.total_steps, report.epoch, report.loss,
                       report.learning_rate, report.samples_per_second});
  }
  void evaluated(const EvaluationReport& report) override {
    if (options_->on_evaluation && report.set == evaluated_set)
      options_->on_evaluation(to_score(report.figures, evaluated_samples));
  }
  bool stop_requested() const { return options_->stop_requested && options_->stop_requested(); }

  /// Constant after construction: the set that is evaluated during a fit.
  Metric::Set evaluated_set = Metric::Set::test;
  std::int64_t evaluated_samples = 0;

 private:
  const FitOptions* options_ = nullptr;
};

}  // namespace troika::internal
