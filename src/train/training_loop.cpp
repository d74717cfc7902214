// TrainingRun::run: the loop over steps with its reports, evaluations and checkpoints, and the
// conditions that end it. training_run.cpp builds what runs here.
#include <fmt/format.h>

#include "setup/predicted_step.h"
#include "train/checkpoint_keeper.h"
#include "train/evaluate.h"
#include "train/exchange_timelines.h"
#include "train/run_record.h"
#include "train/training_run.h"

namespace troika {

/// Where a call of run() writes, and how often.
struct TrainingRun::Pace {
  const RunFolder* folder;                 ///< Null if nothing is written.
  std::optional<CheckpointKeeper> keeper;  ///< Absent without a folder.
  Due log, save, evaluate;
};

TrainOutcome TrainingRun::run(const RunFolder* folder) {
  std::optional<MetricsLog> metrics;
  if (folder != nullptr && is_first()) metrics.emplace(*folder, state_.step);
  Pace pace = begin(folder, metrics ? &*metrics : nullptr);
  const double before = state_.seconds;
  const std::int64_t first_step = state_.step;
  // The order matters. A report comes first, because train.until and checkpoint.best may look at
  // its loss. Evaluations decide whether the run ends, and the test set is evaluated only then. A
  // checkpoint comes last, so that it contains the results of all of them and a resumed run does
  // not repeat any.
  while (!is_over()) {
    const Requests agreed = take_step(pace);
    report(pace, agreed);
    evaluate_if_due(pace, agreed);
    if (is_over()) evaluate_test_at_end();
    save_if_due(pace, agreed);
  }
  if (folder != nullptr && steps_.batch() > 0) write_trace(*folder, first_step);
  outcome_.step = state_.step;
  outcome_.seconds = reporter_.seconds() - before;
  outcome_.drift = reporter_.drift();
  return outcome_;
}

TrainingRun::Pace TrainingRun::begin(const RunFolder* folder, MetricsLog* metrics) {
  RunClock clock{course_.length(), sets_.train->size()};
  Pace pace{folder,
            {},
            Due(config_.log.every, clock),
            Due(config_.checkpoint.every, clock),
            Due(config_.train.evaluate, clock)};
  // Periods in steps or epochs count from the start of the run, also in a resumed one.
  for (Due* due : {&pace.log, &pace.save, &pace.evaluate})
    due->start_at({state_.step, state_.position});
  reporter_.begin(metrics, state_.seconds);
  watch_for_slow_steps();
  // A run that was stopped early and is resumed without more patience ends before its first step.
  outcome_.stopped_early = is_patience_over();
  if (folder == nullptr) return pace;
  pace.keeper.emplace(CheckpointKeeper::Setting{*folder, live_, progress_, config_.checkpoint.keep},
                      state_.step == 0 ? -1 : state_.step);
  // Weights from another run cannot be recreated from the seed, so a run that is killed early needs
  // them in its own folder to resume.
  if (started_from_weights_ && state_.step == 0) pace.keeper->save(state_);
  return pace;
}

/// Only with measured kernels: predictions from rates alone are too rough to compare with.
void TrainingRun::watch_for_slow_steps() {
  if (!is_first() || !live_.setup().is_measured) return;
  std::int64_t batch = course_.batches().front();
  SimTime step = predict_step(live_, models_.at(batch)).time;
  reporter_.watch(std::chrono::nanoseconds(step.count), batch);
}

Requests TrainingRun::take_step(Pace& pace) {
  StepResult step = steps_.run({.state = state_,
                                .batch = course_.batch_at(state_.position),
                                .learning_rate = rate_at(state_.step),
                                .requests = own_requests(pace)});
  ++state_.step;
  state_.position += step.samples;
  reporter_.add(step);
  // A stop request during the last step is ignored: the run is complete, so nothing is left to
  // resume.
  outcome_.interrupted =
      !is_last_step() && (has_peers() ? step.agreed.stop : should_stop(pace.folder));
  return step.agreed;
}

/// Periods by the clock are decided by the first rank alone, since clocks differ between ranks.
Requests TrainingRun::own_requests(Pace& pace) const {
  if (!has_peers()) return {};
  auto ask = [&](Due& due) {
    return is_first() && due.is_by_time() && due.now({state_.step, state_.position});
  };
  return {should_stop(pace.folder), ask(pace.log), ask(pace.save), ask(pace.evaluate)};
}

bool TrainingRun::is_due(Due& due, bool asked) const {
  return has_peers() && due.is_by_time() ? asked : due.now({state_.step, state_.position});
}

bool TrainingRun::should_stop(const RunFolder* folder) const {
  if (hooks_.stop_requested && hooks_.stop_requested()) return true;
  // Only the first rank looks for the stop file, to spare a shared disk; the others learn of it in
  // the step.
  std::error_code ignored;
  return folder != nullptr && is_first() && std::filesystem::exists(folder->stop(), ignored);
}

ReportPoint TrainingRun::report_point() const {
  return {.step = state_.step,
          .total_steps = course_.total_steps(),
          .epoch = epoch(),
          .samples = state_.position,
          .learning_rate = rate_at(state_.step - 1),
          .waited_seconds = steps_.waited_seconds(),
          .is_predicted = steps_.batch() == course_.batches().front()};
}

void TrainingRun::report(Pace& pace, const Requests& agreed) {
  if (is_due(pace.log, agreed.log) || is_last_step() || outcome_.interrupted)
    outcome_.loss = reporter_.report(report_point());
  else
    progress_.moved(reporter_.so_far(report_point()));
}

void TrainingRun::evaluate_if_due(Pace& pace, const Requests& agreed) {
  if (evaluates() && (is_due(pace.evaluate, agreed.evaluate) || is_last_step())) {
    evaluate_set(config_.evaluated_set());
    std::optional<Metric> best = config_.best_metric();
    if (best && best->set != Metric::Set::train)
      compare_with_best(pace, *best, outcome_.value_of(*best));
  }
  outcome_.reached_target = is_target_reached(config_.train.until, outcome_);
  outcome_.stopped_early = !outcome_.reached_target && !is_last_step() && is_patience_over();
  if (outcome_.reached_target || outcome_.stopped_early) outcome_.interrupted = false;
  // An evaluation may end the run between two reports; report the steps since the last one.
  if (outcome_.is_ended() && reporter_.has_steps())
    outcome_.loss = reporter_.report(report_point());
}

void TrainingRun::evaluate_set(Metric::Set set) {
  RunReporter::Pause pause(reporter_);
  Evaluation result = evaluate(
      live_, {model().train(), *samples_of(set), course_.batches().front(), config_.kernels.dtype});
  EvaluationReport report{
      .step = state_.step, .epoch = epoch(), .set = set, .figures = std::move(result.figures)};
  outcome_.add(report);
  reporter_.report(std::move(report));
}

void TrainingRun::compare_with_best(Pace& pace, const Metric& metric, std::optional<double> value) {
  if (!value) return;
  if (!is_better(metric, *value, state_.best_value)) {
    ++state_.evaluations_since_best;
    return;
  }
  // Before saving, so that the checkpoint knows that it is the best.
  state_.best_value = *value;
  state_.evaluations_since_best = 0;
  if (!pace.keeper) return;
  RunReporter::Pause pause(reporter_);
  state_.seconds = reporter_.seconds();
  pace.keeper->save(state_, CheckpointKeeper::Mark::best);
}

void TrainingRun::save_if_due(Pace& pace, const Requests& agreed) {
  if (!pace.keeper) return;
  if (!is_due(pace.save, agreed.save) && !is_last_step() && !outcome_.is_ended()) return;
  // The training loss is known after every step; it picks the best among the checkpoints that are
  // due anyway.
  std::optional<Metric> best = config_.best_metric();
  if (best && best->set == Metric::Set::train)
    compare_with_best(pace, *best, reporter_.has_steps() ? reporter_.loss() : outcome_.loss);
  RunReporter::Pause pause(reporter_);
  state_.seconds = reporter_.seconds();
  pace.keeper->save(state_);
}

/// With a validation set, the test set is evaluated once, at the end, so that no decision of the
/// run depends on it.
void TrainingRun::evaluate_test_at_end() {
  if (evaluates() && sets_.validation && sets_.test && !outcome_.interrupted)
    evaluate_set(Metric::Set::test);
}

void TrainingRun::write_trace(const RunFolder& folder, std::int64_t first_step) {
  const zoo::Model& model = models_.at(steps_.batch());
  std::vector<Timeline> ranks = exchange_timelines(live_, model.graphs.front().name);
  if (!is_first()) return;
  folder.write("trace.json", trace_of_run(live_, {model, ranks},
                                          {.plan_hash = state_.plan_hash,
                                           .first_step = first_step,
                                           .last_step = state_.step,
                                           .batch = steps_.batch()}));
}

}  // namespace troika
