// The training loop: data in, steps on a live model, metrics, evaluations and checkpoints out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optim/rate_schedule.h"
#include "setup/live_model.h"
#include "train/course.h"
#include "train/due.h"
#include "train/outcome.h"
#include "train/run_folder.h"
#include "train/run_reporter.h"
#include "train/snapshot.h"
#include "train/step_runner.h"
#include "train/training_sets.h"

namespace troika {

/// Makes the model for samples of this kind and batch.
using ModelSource = std::function<zoo::Model(const zoo::Samples&)>;

struct TrainHooks {
  Progress* progress = nullptr;            ///< Borrowed; null for silence.
  std::function<bool()> stop_requested{};  ///< Asked after each step.
  std::optional<Strategy> strategy{};      ///< Instead of the one that [parallel] plan names.
  bool evaluates = false;                  ///< evaluate() will be called, test set or not.
  CostFile costs{};                        ///< Of an earlier run; they come before all others.
  bool measures_anew = false;              ///< As in KnownCosts.
  Ranks* ranks = nullptr;                  ///< Borrowed; null where this process is alone.
};

/// One run. Not thread-safe; the caller's thread drives, the device's thread computes. With ranks
/// all of them make the same calls; the first one writes metrics.
class TrainingRun {
 public:
  TrainingRun(RunConfig config, ModelSource source, TrainingSets sets, TrainHooks hooks);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Fresh weights; or those of another run, the names that did not match are returned.
  void initialize();
  std::vector<std::string> start_from(const std::filesystem::path& weights);
  /// Continues from a checkpoint; notes when the kernels are not the ones it was made with.
  void resume(const Checkpoint& checkpoint);
  /// Continues from another training of the same model and optimizer, whatever its strategy; where
  /// a loss was not finite there, this one does not move the weights either.
  void resume(TrainingRun& earlier);
  /// Gives the run another length, counted from its first step, and another pace of reports.
  void set_length(std::int64_t total_steps, const Period& log_every);
  /// Stops the next run() after so many evaluations without a better loss, counted from now.
  void set_patience(std::optional<std::int64_t> evaluations);

  /// The table shown before the first step.
  std::vector<Fact> facts() const;

  /// To the end of the run; with a folder, metrics and checkpoints are written. Throws
  /// Error(numeric) naming the operator when the loss is not finite.
  TrainOutcome run(const RunFolder* folder);

  LiveModel& live() { return live_; }
  const Strategy& strategy() const { return strategy_; }
  const zoo::Model& model() const { return models_.begin()->second; }
  const RunState& state() const { return state_; }

 private:
  void build();
  void describe_state(const zoo::Model& model);
  std::string program_name(const zoo::NamedGraph& graph, std::int64_t batch) const;

  // The loop, in trainer_run.cpp.
  struct Pace;
  Pace begin(const RunFolder* folder, MetricsLog* metrics);
  bool is_over() const { return state_.step >= course_.total_steps() || outcome_.is_ended(); }
  Requests take_step(Pace& pace);
  void report(Pace& pace, const Requests& agreed);
  void evaluate_if_due(Pace& pace, const Requests& agreed);
  void save_if_due(Pace& pace, const Requests& agreed);
  void evaluate_test_at_end();
  Requests own_requests(Pace& pace) const;
  bool is_due(Due& due, bool asked) const;
  void evaluate_set(Metric::Set set);
  void compare_with_best(Pace& pace, const Metric& metric, std::optional<double> value);
  ReportPoint report_point() const;
  void watch_for_slow_steps();
  bool should_stop(const RunFolder* folder) const;
  void write_trace(const RunFolder& folder);

  Ranks* ranks() const { return hooks_.ranks; }
  bool is_first() const { return hooks_.ranks == nullptr || hooks_.ranks->is_first(); }
  bool has_peers() const { return hooks_.ranks != nullptr && hooks_.ranks->count() > 1; }
  bool is_last_step() const { return state_.step == course_.total_steps(); }
  /// Null if there is none.
  const data::Dataset* samples_of(Metric::Set set) const;
  bool is_patience_over() const {
    return config_.train.patience && state_.evaluations_since_best >= *config_.train.patience;
  }
  /// During training; a test set may be there for `eval` alone.
  bool evaluates() const;
  double epoch() const;
  double rate_at(std::int64_t step) const;

  RunConfig config_;
  ModelSource source_;
  TrainingSets sets_;
  TrainHooks hooks_;
  Progress silent_;  // listens when nobody else does
  Progress& progress_;
  Course course_;
  RateSchedule rates_;
  std::map<std::int64_t, zoo::Model> models_;  // by batch
  Strategy strategy_;
  LiveModel live_;
  StepRunner steps_;
  RunReporter reporter_;
  RunState state_;
  bool started_from_weights_ = false;
  TrainOutcome outcome_;
};

}  // namespace troika
