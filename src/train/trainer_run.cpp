// The loop over steps: reports, evaluations, checkpoints, and when it ends.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "checkpoint/retention.h"
#include "config/period.h"
#include "train/due.h"
#include "train/predicted_step.h"
#include "train/run_record.h"
#include "train/trainer.h"

namespace troika {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// While it lives, time passes outside of steps: the start that they are counted from moves along.
class OutsideSteps {
 public:
  explicit OutsideSteps(double& start) : start_(start) {}
  OutsideSteps(const OutsideSteps&) = delete;
  OutsideSteps& operator=(const OutsideSteps&) = delete;
  ~OutsideSteps() { start_ += seconds_now() - entered_; }

 private:
  double& start_;
  double entered_ = seconds_now();
};

/// What the devices here spent, on average, of the time that has passed.
struct Passed {
  double seconds;
  double data_seconds;
  std::size_t devices;
};
TimeShares shares_of(const StepLedger& ledger, const Passed& passed) {
  double all = passed.seconds * static_cast<double>(passed.devices);
  auto share = [&](std::chrono::nanoseconds part) {
    return std::chrono::duration<double>(part).count() / all;
  };
  TimeShares shares{.compute = share(ledger.compute),
                    .optimizer = share(ledger.optimizer),
                    .moving = share(ledger.moving),
                    .waiting = share(ledger.waiting),
                    .data = std::min(1.0, passed.data_seconds / passed.seconds)};
  shares.other = std::max(
      0.0, 1 - shares.compute - shares.optimizer - shares.moving - shares.waiting - shares.data);
  return shares;
}

}  // namespace

/// What a run writes, and when.
struct Trainer::Pace {
  const RunFolder* folder;
  MetricsLog* metrics;
  Due log, save, evaluate;
};

double Trainer::waited_seconds() const {
  return waited_before_ + std::chrono::duration<double>(loader_->waited()).count();
}

void Trainer::Tally::add(const std::map<DeviceId, StepLedger>& ledgers) {
  std::chrono::nanoseconds most{};
  for (const auto& [device, step] : ledgers) {
    ledger += step;
    most = std::max(most, step.moving + step.waiting);
  }
  messages += most;
}

StepReport Trainer::report_so_far() const {
  double elapsed = std::max(seconds_now() - tally_.start_seconds, 1e-9);
  double data = waited_seconds() - tally_.waited_seconds;
  auto steps = static_cast<double>(tally_.steps);
  StepReport report{
      .step = state_.step,
      .total_steps = course_.total_steps(),
      .epoch = epoch(),
      .samples = state_.position,
      .loss = tally_.loss / steps,
      .learning_rate = rate_at(state_.step - 1),
      .samples_per_second = static_cast<double>(tally_.samples) / elapsed,
      .step_ms = elapsed * 1e3 / steps,
      .data_wait = std::min(1.0, data / elapsed),
      .communication_wait =
          std::min(1.0, std::chrono::duration<double>(tally_.messages).count() / elapsed),
      .shares = shares_of(tally_.ledger, {elapsed, data, live_.machinery().devices.size()})};
  for (const auto& [name, sum] : tally_.more) report.more.emplace_back(name, sum / steps);
  return report;
}

void Trainer::report_step(MetricsLog* metrics) {
  StepReport report = report_so_far();
  outcome_.loss = report.loss;
  if (metrics != nullptr) metrics->write(report);
  progress_.step(report);
  if (loader_batch_ == course_.batches().front()) {
    auto taken = std::chrono::duration<double, std::milli>(report.step_ms) * tally_.steps;
    std::string warning = slow_steps_.check(
        {tally_.steps, std::chrono::duration_cast<std::chrono::nanoseconds>(taken),
         report.data_wait, report.communication_wait});
    if (!warning.empty()) progress_.warn(warning);
  }
  tally_ = {.start_seconds = seconds_now(), .waited_seconds = waited_seconds()};
}

void Trainer::run_evaluation(MetricsLog* metrics) {
  OutsideSteps outside(tally_.start_seconds);
  Evaluation result =
      evaluate(live_, *sets_.test, course_.batches().front(), config_.kernels.dtype);
  EvaluationReport report{state_.step, epoch(), result.loss, result.accuracy};
  outcome_.evaluation = report;
  if (metrics != nullptr) metrics->write(report);
  progress_.evaluated(report);
}

std::optional<double> Trainer::value_of_best_metric() const {
  switch (*config_.checkpoint.best) {
    case MetricName::loss:
      return tally_.steps > 0 ? tally_.loss / static_cast<double>(tally_.steps) : outcome_.loss;
    case MetricName::test_loss:
      return outcome_.evaluation->test_loss;
    case MetricName::test_accuracy:
      return outcome_.evaluation->test_accuracy;
  }
  return std::nullopt;
}

void Trainer::save_if_best(const RunFolder& folder) {
  std::optional<double> value = value_of_best_metric();
  bool higher = *config_.checkpoint.best == MetricName::test_accuracy;
  if (!value) return;
  if (state_.has_best && (higher ? *value <= state_.best_value : *value >= state_.best_value))
    return;
  state_.best_value = *value;
  state_.has_best = true;
  save(folder);
  if (is_first()) mark_best_checkpoint(folder.checkpoints(), state_.step);
}

void Trainer::save(const RunFolder& folder) {
  if (saved_step_ == state_.step) return;
  OutsideSteps outside(tally_.start_seconds);
  folder.require_writer();
  save_state(folder.checkpoints(), live_, state_);
  saved_step_ = state_.step;
  if (is_first()) tidy(folder);
  // Nobody waits in the next step for a rank that removes files.
  if (has_peers()) ranks()->exchange("saved");
}

void Trainer::tidy(const RunFolder& folder) {
  if (std::string warning = retain_checkpoints(folder.checkpoints(),
                                               static_cast<std::size_t>(config_.checkpoint.keep));
      !warning.empty())
    progress_.warn(warning);
  progress_.saved((folder.checkpoints() / fmt::format("step-{}", state_.step)).string());
}

bool Trainer::should_stop(const RunFolder* folder) const {
  if (hooks_.stop_requested && hooks_.stop_requested()) return true;
  // One look per step at a disk that all may share; the others learn of it in the step.
  std::error_code ignored;
  return folder != nullptr && is_first() && std::filesystem::exists(folder->stop(), ignored);
}

void Trainer::write_trace(const RunFolder& folder) {
  folder.write("trace.json", trace_of_run(live_, models_.at(loader_batch_)));
}

/// Predictions by rule are too rough to hold steps against.
void Trainer::watch_for_slow_steps() {
  if (!is_first() || !live_.machinery().is_measured) return;
  SimTime step = predict_step(live_, models_.at(course_.batches().front())).time;
  slow_steps_.begin(std::chrono::nanoseconds(step.count), read_system_load());
}

Trainer::Pace Trainer::begin(const RunFolder* folder, MetricsLog* metrics) {
  RunClock clock{course_.length(), sets_.train->size()};
  Pace pace{folder, metrics, Due(config_.log.every, clock), Due(config_.checkpoint.every, clock),
            Due(config_.train.evaluate, clock)};
  for (Due* due : {&pace.log, &pace.save, &pace.evaluate})
    due->start_at({state_.step, state_.position});
  watch_for_slow_steps();
  tally_ = {.start_seconds = seconds_now()};
  // Weights from elsewhere cannot be made again from the seed, so a run that is killed early needs
  // them here.
  if (folder != nullptr && started_from_weights_ && state_.step == 0) save(*folder);
  saved_step_ = state_.step == 0 ? -1 : state_.step;
  return pace;
}

Requests Trainer::own_requests(Pace& pace) const {
  if (!has_peers()) return {};
  auto ask = [&](Due& due) {
    return is_first() && due.is_by_time() && due.now({state_.step, state_.position});
  };
  return {should_stop(pace.folder), ask(pace.log), ask(pace.save), ask(pace.evaluate)};
}

void Trainer::follow_step(Pace& pace, const Requests& agreed) {
  bool last = state_.step == course_.total_steps();
  auto is_due = [&](Due& due, bool asked) {
    return has_peers() && due.is_by_time() ? asked : due.now({state_.step, state_.position});
  };
  // A run that has come to its end has nothing left to resume.
  outcome_.interrupted = !last && (has_peers() ? agreed.stop : should_stop(pace.folder));
  if (is_due(pace.log, agreed.log) || last || outcome_.interrupted)
    report_step(pace.metrics);
  else
    progress_.moved(report_so_far());
  const std::optional<MetricName> best = config_.checkpoint.best;
  if (evaluates() && (is_due(pace.evaluate, agreed.evaluate) || last)) {
    run_evaluation(pace.metrics);
    if (pace.folder != nullptr && best && needs_test(*best)) save_if_best(*pace.folder);
  }
  outcome_.reached_target = is_target_reached(config_.train.until, outcome_);
  outcome_.interrupted = outcome_.interrupted && !outcome_.reached_target;
  // An evaluation may end the run between two reports; the steps since the last one count too.
  if (outcome_.reached_target && tally_.steps > 0) report_step(pace.metrics);
  if (pace.folder == nullptr) return;
  if (is_due(pace.save, agreed.save) || last || outcome_.interrupted || outcome_.reached_target) {
    if (best == MetricName::loss) save_if_best(*pace.folder);
    save(*pace.folder);
  }
}

TrainOutcome Trainer::run(const RunFolder* folder) {
  double start = seconds_now();
  std::optional<MetricsLog> metrics;
  if (folder != nullptr && is_first()) metrics.emplace(*folder, state_.step);
  Pace pace = begin(folder, metrics ? &*metrics : nullptr);
  while (state_.step < course_.total_steps() && !outcome_.interrupted && !outcome_.reached_target) {
    open_loader(course_.batch_at(state_.position));
    // What comes from outside must reach all ranks before any of them heeds it.
    follow_step(pace, step_with(own_requests(pace)));
  }
  if (folder != nullptr && is_first() && state_.step > 0 && loader_) write_trace(*folder);
  outcome_.step = state_.step;
  outcome_.seconds = seconds_now() - start;
  return outcome_;
}

}  // namespace troika
