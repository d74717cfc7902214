// The training loop: data in, steps on a live model, metrics, evaluations and checkpoints out.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/loader.h"
#include "optim/rate_schedule.h"
#include "train/course.h"
#include "train/evaluate.h"
#include "train/live_model.h"
#include "train/metrics_log.h"
#include "train/progress.h"
#include "train/requests.h"
#include "train/run_folder.h"
#include "train/slow_steps.h"
#include "train/snapshot.h"
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

struct TrainOutcome {
  std::int64_t step = 0;
  std::optional<double> loss{};                ///< As last reported; absent before any step.
  std::optional<EvaluationReport> evaluation;  ///< The last one.
  bool interrupted = false;                    ///< By stop_requested or the stop file.
  bool reached_target = false;
  double seconds = 0;  ///< Spent in this call.
};

/// One run. Not thread-safe; the caller's thread drives, the device's thread computes. With ranks
/// all of them make the same calls; the first one writes metrics.
class Trainer {
 public:
  Trainer(RunConfig config, ModelSource source, TrainingSets sets, TrainHooks hooks);

  /// Fresh weights; or those of another run, the names that did not match are returned.
  void initialize();
  std::vector<std::string> start_from(const std::filesystem::path& weights);
  /// Goes on from a checkpoint; notes when the kernels are not the ones it was made with.
  void resume(const Checkpoint& checkpoint);
  /// Goes on from another trainer of the same model and optimizer, whatever its strategy; where a
  /// loss was not finite there, this one does not move the weights either.
  void resume(Trainer& earlier);
  /// Gives the run another length, counted from its first step, and another pace of reports.
  void set_length(std::int64_t total_steps, const Period& log_every);

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
  void open_loader(std::int64_t batch);
  void step(const data::Batch& batch);
  /// A step that tells all ranks what this one asks for, and what all together did.
  Requests step_with(const Requests& requests);
  void write_inputs(const zoo::NamedGraph& graph, const std::string& program,
                    const data::Batch& batch);
  [[noreturn]] void explain_non_finite(const zoo::NamedGraph& graph, const std::string& program,
                                       const data::Batch& batch);
  struct Pace;
  Pace begin(const RunFolder* folder, MetricsLog* metrics);
  /// What this rank asks of all, before a step; and what all do after it.
  Requests own_requests(Pace& pace) const;
  void follow_step(Pace& pace, const Requests& agreed);
  StepReport report_so_far() const;
  void report_step(MetricsLog* metrics);
  void run_evaluation(MetricsLog* metrics);
  std::optional<double> value_of_best_metric() const;
  void save_if_best(const RunFolder& folder);
  void save(const RunFolder& folder);
  void tidy(const RunFolder& folder);
  void write_trace(const RunFolder& folder);
  bool should_stop(const RunFolder* folder) const;
  Ranks* ranks() const { return hooks_.ranks; }
  bool is_first() const { return hooks_.ranks == nullptr || hooks_.ranks->is_first(); }
  bool has_peers() const { return hooks_.ranks != nullptr && hooks_.ranks->count() > 1; }
  /// During training; a test set may be there for `eval` alone.
  bool evaluates() const { return sets_.test && config_.train.evaluate.unit != PeriodUnit::never; }
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
  std::unique_ptr<data::Loader> loader_;
  std::int64_t loader_batch_ = 0;
  RunState state_;
  std::int64_t saved_step_ = -1;
  bool started_from_weights_ = false;
  TrainOutcome outcome_;

  // Since the last report.
  struct Tally {
    double loss = 0;
    std::map<std::string, double> more;
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double start_seconds = 0;  // moved on by what is no part of a step: saves, evaluations
    double waited_seconds = 0;
    StepLedger ledger;                    // of all devices here together
    std::chrono::nanoseconds messages{};  // on the device that waits most, step by step

    void add(const std::map<DeviceId, StepLedger>& ledgers);
  } tally_;
  double waited_seconds() const;
  void watch_for_slow_steps();
  SlowSteps slow_steps_;
  double waited_before_ = 0;  // by loaders that are gone
  std::vector<std::byte> feed_;
};

}  // namespace troika
