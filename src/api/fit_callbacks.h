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
  /// Reports the evaluations of this set, which has so many samples.
  FitCallbacks(Metric::Set evaluated, std::int64_t samples)
      : evaluated_set_(evaluated), evaluated_samples_(samples) {}

  /// Must be called before a run reports anything. Borrowed until the next call.
  void listen_to(const FitOptions& options) { options_ = &options; }

  void step(const StepReport& report) override {
    if (!options_->on_step) return;
    options_->on_step({report.step, report.total_steps, report.epoch, report.loss,
                       report.learning_rate, report.samples_per_second});
  }
  void evaluated(const EvaluationReport& report) override {
    if (options_->on_evaluation && report.set == evaluated_set_)
      options_->on_evaluation(to_score(report.figures, evaluated_samples_));
  }
  bool stop_requested() const { return options_->stop_requested && options_->stop_requested(); }

 private:
  // constant after construction
  Metric::Set evaluated_set_;
  std::int64_t evaluated_samples_;

  const FitOptions* options_ = nullptr;
};

}  // namespace troika::internal
