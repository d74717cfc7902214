// A training run: builds the programs of a model and runs the training loop with its metrics,
// evaluations and checkpoints.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optim/rate_schedule.h"
#include "setup/live_model.h"
#include "taskgraph/memory_table.h"
#include "train/course.h"
#include "train/due.h"
#include "train/outcome.h"
#include "train/run_folder.h"
#include "train/run_reporter.h"
#include "train/snapshot.h"
#include "train/step_runner.h"
#include "train/training_sets.h"

namespace troika {

/// Builds the model for samples of this form and batch size.
using ModelSource = std::function<zoo::Model(const zoo::Samples&)>;

struct TrainHooks {
  Progress* progress = nullptr;            ///< Borrowed; null for silence.
  std::function<bool()> stop_requested{};  ///< Called after each step.
  std::optional<Strategy> strategy{};      ///< Replaces the one that parallel.plan names.
  bool evaluates = false;                  ///< The caller calls evaluate() itself.
  KernelTable costs{};                     ///< As KnownCosts::given.
  bool measures_anew = false;              ///< As KnownCosts::measures_anew.
  Ranks* ranks = &sole_rank();             ///< Borrowed, not null.
};

/// One run. Not thread-safe: the caller's thread drives it, the threads of the devices compute. All
/// calls are collective, and only the first rank writes metrics. Construct it, then call
/// initialize, start_from or resume, then run.
class TrainingRun {
 public:
  /// Lowers all programs and allocates their memory. Throws Error(usage) if the configuration does
  /// not fit the model or the data, and Error(memory) if the run does not fit into its devices.
  TrainingRun(RunConfig config, ModelSource source, TrainingSets sets, TrainHooks hooks);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Sets initial weights from the seed.
  void initialize();
  /// The same, then loads the weights of another run; returns the parameters that it does not have.
  /// Throws Error(usage) if it predicts the same numbers, but normalised in another way.
  std::vector<std::string> start_from(const std::filesystem::path& weights);
  /// Continues from a checkpoint. Warns if the model, plan, kernels or data differ from it.
  void resume(const Checkpoint& checkpoint);
  /// Continues from another run of the same model and optimizer, whatever its strategy. If a loss
  /// was not finite there, the weights do not change here either.
  void resume(TrainingRun& earlier);
  /// Changes the length of the run, counted from its first step, and the period of its reports.
  void set_length(std::int64_t total_steps, const Period& log_every);
  /// Stops the next run() after so many evaluations without a better loss, counted from now.
  void set_patience(std::optional<std::int64_t> evaluations);

  /// Returns the table shown before the first step. Simulates the programs of all devices.
  std::vector<Fact> facts() const;

  /// Trains to the end of the run. With a folder, writes metrics and checkpoints. Throws
  /// Error(numeric) naming the operator if the loss is not finite.
  TrainOutcome run(const RunFolder* folder);

  LiveModel& live() { return live_; }
  const Strategy& strategy() const { return strategy_; }
  const zoo::Model& model() const { return models_.begin()->second; }
  const RunState& state() const { return state_; }

 private:
  void build();
  RunPrograms make_models();
  Strategy agreed_strategy(const zoo::Model& model) const;
  void require_feasible(const zoo::Model& model, std::int64_t batch) const;
  void describe_state(const zoo::Model& model);
  std::string program_name(const zoo::NamedGraph& graph, std::int64_t batch) const;

  // The loop, in training_loop.cpp.
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
  void write_trace(const RunFolder& folder, std::int64_t first_step);

  bool is_first() const { return hooks_.ranks->is_first(); }
  bool has_peers() const { return hooks_.ranks->count() > 1; }
  bool is_last_step() const { return state_.step == course_.total_steps(); }
  /// Returns null if the run does not have the set.
  const data::Dataset* samples_of(Metric::Set set) const;
  bool is_patience_over() const {
    return config_.train.patience && state_.evaluations_since_best >= *config_.train.patience;
  }
  /// Evaluates during training.
  bool evaluates() const;
  double epoch() const;
  double rate_at(std::int64_t step) const;

  RunConfig config_;
  ModelSource source_;
  TrainingSets sets_;
  TrainHooks hooks_;
  Progress silent_;  // used if hooks_.progress is null
  Progress& progress_;
  Course course_;
  RateSchedule rates_;
  std::map<std::int64_t, zoo::Model> models_;  // by batch size
  Strategy strategy_;
  LiveModel live_;
  std::vector<MemoryTable> memory_;  // predicted, by device
  StepRunner steps_;
  RunReporter reporter_;
  RunState state_;
  bool started_from_weights_ = false;
  TrainOutcome outcome_;
};

}  // namespace troika
