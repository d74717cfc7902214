#include "train/run_reporter.h"

#include <algorithm>

namespace troika {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Elapsed time, and the part of it spent waiting for samples.
struct Passed {
  double seconds;
  double data_seconds;
  std::size_t devices;
};

/// Averages over the devices of this process.
TimeShares shares_of(const StepLedger& ledger, const Passed& passed) {
  double all = passed.seconds * static_cast<double>(passed.devices);
  TimeShares shares{.compute = in_seconds(ledger.compute) / all,
                    .optimizer = in_seconds(ledger.optimizer) / all,
                    .moving = in_seconds(ledger.moving) / all,
                    .waiting = in_seconds(ledger.waiting) / all,
                    .data = std::min(1.0, passed.data_seconds / passed.seconds)};
  // Ledgers and the wall clock are read at different moments, so the rest may be slightly negative.
  shares.other = std::max(
      0.0, 1 - shares.compute - shares.optimizer - shares.moving - shares.waiting - shares.data);
  return shares;
}

}  // namespace

RunReporter::Pause::Pause(RunReporter& reporter) : reporter_(reporter), entered_(seconds_now()) {}

/// Moving the start of the interval forward removes the pause from all rates of the next report.
RunReporter::Pause::~Pause() {
  double pause = seconds_now() - entered_;
  reporter_.tally_.start_seconds += pause;
  reporter_.step_start_seconds_ += pause;
}

void RunReporter::begin(MetricsLog* metrics, double spent) {
  metrics_ = metrics;
  // As if earlier processes had trained until now, so that the clock of the run continues.
  start_seconds_ = seconds_now() - spent;
  tally_ = {.start_seconds = seconds_now()};
  step_start_seconds_ = tally_.start_seconds;
}

void RunReporter::watch(std::chrono::nanoseconds predicted_step, std::int64_t samples) {
  slow_steps_.emplace().begin(predicted_step, read_system_load());
  drift_.emplace(predicted_step, samples);
  step_start_seconds_ = seconds_now();
}

std::optional<StepDrift> RunReporter::drift() const {
  return drift_ ? drift_->find() : std::nullopt;
}

double RunReporter::seconds() const { return seconds_now() - start_seconds_; }

void RunReporter::add(const StepResult& step) {
  double now = seconds_now();
  std::chrono::duration<double> taken(now - step_start_seconds_);
  step_start_seconds_ = now;
  if (drift_)
    drift_->add(std::chrono::duration_cast<std::chrono::nanoseconds>(taken), step.samples);
  tally_.loss += step.loss;
  for (const auto& [name, loss] : step.more) tally_.more[name] += loss;
  ++tally_.steps;
  tally_.samples += step.samples;
  tally_.ledger += step.ledger;
  tally_.messages += step.messages;
}

std::optional<double> RunReporter::loss() const {
  if (!has_steps()) return std::nullopt;
  return tally_.loss / static_cast<double>(tally_.steps);
}

StepReport RunReporter::so_far(const ReportPoint& point) const {
  // Never 0, since rates divide by it.
  double elapsed = std::max(seconds_now() - tally_.start_seconds, 1e-9);
  double data = point.waited_seconds - tally_.waited_seconds;
  auto steps = static_cast<double>(tally_.steps);
  StepReport report{.step = point.step,
                    .total_steps = point.total_steps,
                    .epoch = point.epoch,
                    .seconds = seconds(),
                    .samples = point.samples,
                    .loss = tally_.loss / steps,
                    .learning_rate = point.learning_rate,
                    .samples_per_second = static_cast<double>(tally_.samples) / elapsed,
                    .step_ms = elapsed * 1e3 / steps,
                    .data_wait = std::min(1.0, data / elapsed),
                    .communication_wait = std::min(1.0, in_seconds(tally_.messages) / elapsed),
                    .shares = shares_of(tally_.ledger, {elapsed, data, setting_.devices})};
  if (setting_.tokens_per_sample)
    report.tokens_per_second =
        report.samples_per_second * static_cast<double>(*setting_.tokens_per_sample);
  for (const auto& [name, sum] : tally_.more) report.more.emplace_back(name, sum / steps);
  return report;
}

double RunReporter::report(const ReportPoint& point) {
  StepReport report = so_far(point);
  if (metrics_ != nullptr) metrics_->write(report);
  setting_.progress.step(report);
  // A batch schedule changes the batch size, and the prediction is for the first one.
  if (point.is_predicted) warn_if_slow(report);
  // waited_seconds grows over the whole process; the next report subtracts what is known by now.
  tally_ = {.start_seconds = seconds_now(), .waited_seconds = point.waited_seconds};
  step_start_seconds_ = tally_.start_seconds;
  return report.loss;
}

void RunReporter::report(EvaluationReport report) {
  report.seconds = seconds();
  if (metrics_ != nullptr) metrics_->write(report);
  setting_.progress.evaluated(report);
}

void RunReporter::warn_if_slow(const StepReport& report) {
  if (!slow_steps_) return;
  auto taken = std::chrono::duration<double, std::milli>(report.step_ms) * tally_.steps;
  std::string warning =
      slow_steps_->check({tally_.steps, std::chrono::duration_cast<std::chrono::nanoseconds>(taken),
                          report.data_wait, report.communication_wait});
  if (!warning.empty()) setting_.progress.warn(warning);
}

}  // namespace troika
