#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "checkpoint/retention.h"
#include "config/period.h"
#include "train/choose_strategy.h"
#include "train/due.h"
#include "train/feeds.h"
#include "train/fingerprint.h"
#include "train/memory_fit.h"
#include "train/optimizer_rules.h"
#include "train/run_record.h"
#include "train/sample_rows.h"

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

/// Before anything is lowered, which takes the ranks' steps together.
LiveModel agreed_model(const RunConfig& config, const TrainingSets& sets, const TrainHooks& hooks) {
  if (hooks.ranks != nullptr)
    hooks.ranks->require_agreement("run", fingerprint_of_run(config, sets));
  return LiveModel(make_machinery(config.kernels, config.parallel,
                                  {hooks.costs, hooks.measures_anew}, hooks.ranks));
}

/// Of the values that were not finite on any rank, the one that the program writes first.
std::optional<NonFinite> first_of_all(Ranks& ranks, const TaskGraph& program,
                                      const std::optional<NonFinite>& own) {
  std::size_t at = program.tasks.size();
  if (own)
    at = static_cast<std::size_t>(std::ranges::find(program.tasks, own->task, &Task::name) -
                                  program.tasks.begin());
  std::vector<std::string> all =
      ranks.exchange(fmt::format("{:012d}\n{}", at, own ? own->buffer : ""));
  std::string first = *std::ranges::min_element(all);
  at = std::stoul(first);
  if (at == program.tasks.size()) return std::nullopt;
  return NonFinite{program.tasks[at].name, first.substr(first.find('\n') + 1)};
}

Progress& listener(Progress* given, Progress& silent) { return given != nullptr ? *given : silent; }

}  // namespace

Trainer::Trainer(RunConfig config, ModelSource source, TrainingSets sets, TrainHooks hooks)
    : config_(std::move(config)),
      source_(std::move(source)),
      sets_(std::move(sets)),
      hooks_(std::move(hooks)),
      progress_(listener(hooks_.progress, silent_)),
      course_(config_.train, sets_.train->size()),
      rates_(make_rate_schedule(config_.optimizer, course_.length())),
      live_(agreed_model(config_, sets_, hooks_)) {
  build();
}

void Trainer::build() {
  for (std::int64_t batch : course_.batches()) {
    zoo::Model& model = models_[batch] = source_(samples_of(*sets_.train, config_, batch));
    if (models_.size() == 1)
      strategy_ = hooks_.strategy
                      ? *hooks_.strategy
                      : choose_strategy(config_, model, live_.machinery().machine);
    for (zoo::NamedGraph& graph : model.graphs) graph.name = program_name(graph, batch);
    freeze_parameters(model, config_.train.freeze);
    if (auto reason = why_for_another_model(strategy_, model.train()))
      throw Error(ErrorKind::usage, *reason);
    live_.add_training(model, config_, strategy_);
  }
  const zoo::Model& first = models_.at(course_.batches().front());
  if (sets_.test && !first.graphs.front().feeds.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "data.test: '{}' is fed with more than samples, so it cannot be tested on them; "
            "leave data.test out",
            first.name));
  if (sets_.test || hooks_.evaluates) add_evaluation(live_, first.train());
  if (ranks() != nullptr)
    ranks()->require_agreement("plan", fingerprint_of_programs(live_, first.train(), strategy_));
  require_fit({live_, config_, first, strategy_});
  live_.start();
  state_.seed = static_cast<std::uint64_t>(config_.train.seed);
  state_.model_hash = fmt::format("{:016x}", model_hash(first.train()));
  state_.choices_hash = fmt::format("{:016x}", live_.choices_hash());
  state_.device = live_.machinery().device().kind();
}

std::string Trainer::program_name(const zoo::NamedGraph& graph, std::int64_t batch) const {
  return batch == course_.batches().front() ? graph.name : fmt::format("{}@{}", graph.name, batch);
}

void Trainer::initialize() { live_.initialize(state_.seed); }

std::vector<std::string> Trainer::start_from(const std::filesystem::path& weights) {
  initialize();
  started_from_weights_ = true;
  return load_weights(weights, live_);
}

void Trainer::resume(const Checkpoint& checkpoint) {
  RunState now = state_;
  state_ = load_state(checkpoint, live_);
  if (state_.model_hash != now.model_hash)
    progress_.warn("the model differs from the one that the checkpoint was made with");
  if (state_.choices_hash != now.choices_hash)
    progress_.warn(
        fmt::format("the checkpoint was made on '{}' with other kernels than '{}' has; the run "
                    "goes on, but not bit "
                    "for bit as it would have there",
                    state_.device, now.device));
  state_.model_hash = now.model_hash;
  state_.choices_hash = now.choices_hash;
  state_.device = now.device;
}

void Trainer::resume(Trainer& earlier) {
  copy_state(earlier.live_, live_);
  // A loss that was not finite there stays so here: nothing moves until the host says otherwise.
  live_.session().write_control(Control::ok, earlier.live_.session().read_control(Control::ok));
  std::string choices = std::exchange(state_, earlier.state_).choices_hash;
  state_.choices_hash = choices;
}

void Trainer::set_length(std::int64_t total_steps, const Period& log_every) {
  config_.train.steps = total_steps;
  config_.log.every = log_every;
  course_ = Course(config_.train, sets_.train->size());
  rates_ = make_rate_schedule(config_.optimizer, course_.length());
  outcome_ = {};
}

double Trainer::epoch() const {
  return static_cast<double>(state_.position) / static_cast<double>(sets_.train->size());
}

double Trainer::rate_at(std::int64_t step) const {
  return learning_rate(rates_, step, course_.total_steps());
}

void Trainer::open_loader(std::int64_t batch) {
  // A loader whose last batch was never used is ahead of the run.
  if (loader_ && loader_batch_ == batch && loader_->cursor() == state_.position) return;
  if (loader_) waited_before_ += std::chrono::duration<double>(loader_->waited()).count();
  Range rows{};
  for (const zoo::NamedGraph& graph : models_.at(batch).graphs)
    rows = hull(rows, sample_rows(live_.session(), graph.name, batch));
  loader_ = std::make_unique<data::Loader>(*sets_.train,
                                           data::LoaderOptions{.batch = batch,
                                                               .floating = config_.kernels.dtype,
                                                               .seed = state_.seed,
                                                               .position = state_.position,
                                                               .rows = rows});
  loader_batch_ = batch;
}

void Trainer::write_inputs(const zoo::NamedGraph& graph, const std::string& program,
                           const data::Batch& batch) {
  auto is_fed = [&](const std::string& name) {
    return std::ranges::count(graph.feeds, name, &zoo::Feed::input) > 0;
  };
  for (const data::HostField& field : batch.fields)
    if (!is_fed(field.name()))
      live_.session().write_input(program, field.name(), field.bytes(), batch.first_row);
  for (const zoo::Feed& feed : graph.feeds) {
    const TensorSpec& spec = graph.graph[find_tensor(graph.graph, feed.input)].spec;
    feed_.resize(static_cast<std::size_t>(spec.bytes().count));
    fill_feed(feed, spec, {state_.seed, static_cast<std::uint32_t>(state_.step)}, feed_);
    live_.session().write_input(program, feed.input, feed_);
  }
}

void Trainer::step(const data::Batch& batch) {
  Session& session = live_.session();
  session.write_scalar(Scalar::learning_rate, rate_at(state_.step));
  session.write_scalar(Scalar::update_step, static_cast<double>(state_.step + 1));
  session.write_scalar(Scalar::key_low, static_cast<double>(state_.seed & 0xffffffffu));
  session.write_scalar(Scalar::key_high, static_cast<double>(state_.seed >> 32));
  const std::vector<zoo::NamedGraph>& graphs = models_.at(loader_batch_).graphs;
  for (const zoo::NamedGraph& graph : graphs) {
    write_inputs(graph, graph.name, batch);
    live_.run(graph.name);
    if (session.read_control(Control::ok) == 0) explain_non_finite(graph, graph.name, batch);
    tally_.message_seconds += session.exposed_seconds(graph.name);
    double loss = session.read_control(Control::loss);
    if (&graph == &graphs.front())
      tally_.loss += loss;
    else
      tally_.more[graph.name] += loss;
  }
  ++state_.step;
  state_.position += loader_batch_;
  ++tally_.steps;
  tally_.samples += loader_batch_;
}

Requests Trainer::step_with(const Requests& requests) {
  if (has_peers()) live_.session().write_requests(to_number(requests));
  step(*loader_->next());
  if (!has_peers()) return {};
  return parse_requests(
      live_.session().read_requests(models_.at(loader_batch_).graphs.back().name));
}

void Trainer::explain_non_finite(const zoo::NamedGraph& graph, const std::string& program,
                                 const data::Batch& batch) {
  // The sticky flag kept all weights as they were, so the same inputs give the same values again.
  write_inputs(graph, program, batch);
  std::optional<NonFinite> found = live_.session().run_checked(program);
  if (has_peers()) found = first_of_all(*ranks(), live_.session().program(program), found);
  std::string where =
      found ? fmt::format("the first value that is not finite is '{}', written by '{}'",
                          found->buffer, found->task)
            : "the replay of the step was finite";
  const char* what =
      std::isfinite(live_.session().read_control(Control::loss)) ? "gradient" : "loss";
  // On all ranks alike.
  throw SharedError(ErrorKind::numeric,
              fmt::format("the {} of step {} is not finite; {}. A lower learning rate than {:g}, a "
                          "longer warm-up or train.clip_norm may help",
                          what, state_.step + 1, where, rate_at(state_.step)));
}

double Trainer::waited_seconds() const {
  return waited_before_ + std::chrono::duration<double>(loader_->waited()).count();
}

StepReport Trainer::report_so_far() const {
  double elapsed = std::max(seconds_now() - tally_.start_seconds, 1e-9);
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
      .data_wait = std::min(1.0, (waited_seconds() - tally_.waited_seconds) / elapsed),
      .communication_wait = std::min(1.0, tally_.message_seconds / elapsed)};
  for (const auto& [name, sum] : tally_.more) report.more.emplace_back(name, sum / steps);
  return report;
}

void Trainer::report_step(MetricsLog* metrics) {
  StepReport report = report_so_far();
  outcome_.loss = report.loss;
  outcome_.has_loss = true;
  if (metrics != nullptr) metrics->write(report);
  progress_.step(report);
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
  std::error_code ignored;
  return folder != nullptr && std::filesystem::exists(folder->stop(), ignored);
}

std::vector<Fact> Trainer::facts() const {
  return describe_run({config_, model(), *sets_.train, sets_.test.get(), course_, live_});
}

void Trainer::write_trace(const RunFolder& folder) {
  folder.write("trace.json", trace_of_run(live_, models_.at(loader_batch_).graphs.front().name));
}

TrainOutcome Trainer::run(const RunFolder* folder) {
  double start = seconds_now();
  std::optional<MetricsLog> log;
  if (folder != nullptr && is_first()) log.emplace(folder->metrics(), state_.step);
  MetricsLog* metrics = log ? &*log : nullptr;
  RunClock clock{course_.length(), sets_.train->size()};
  Due log_due(config_.log.every, clock), save_due(config_.checkpoint.every, clock),
      evaluate_due(config_.train.evaluate, clock);
  for (Due* due : {&log_due, &save_due, &evaluate_due})
    due->start_at({state_.step, state_.position});
  tally_ = {.start_seconds = start};
  // Weights from elsewhere cannot be made again from the seed, so a run that is killed early needs
  // them here.
  if (folder != nullptr && started_from_weights_ && state_.step == 0) save(*folder);
  saved_step_ = state_.step == 0 ? -1 : state_.step;
  const std::optional<MetricName> best = config_.checkpoint.best;

  while (state_.step < course_.total_steps() && !outcome_.interrupted && !outcome_.reached_target) {
    open_loader(course_.batch_at(state_.position));
    // What comes from outside must reach all ranks before any of them heeds it.
    Requests own{.stop = has_peers() && should_stop(folder)};
    auto ask = [&](Due& due) {
      return has_peers() && is_first() && due.is_by_time() &&
             due.now({state_.step, state_.position});
    };
    own.log = ask(log_due), own.save = ask(save_due), own.evaluate = ask(evaluate_due);
    Requests agreed = step_with(own);
    bool last = state_.step == course_.total_steps();
    Moment moment{state_.step, state_.position};
    auto is_due = [&](Due& due, bool asked) {
      return has_peers() && due.is_by_time() ? asked : due.now(moment);
    };
    outcome_.interrupted = has_peers() ? agreed.stop : should_stop(folder);
    if (is_due(log_due, agreed.log) || last || outcome_.interrupted)
      report_step(metrics);
    else
      progress_.moved(report_so_far());
    if (sets_.test && (is_due(evaluate_due, agreed.evaluate) || last)) {
      run_evaluation(metrics);
      if (folder != nullptr && best && needs_test(*best)) save_if_best(*folder);
    }
    outcome_.reached_target = is_target_reached(config_.train.until, outcome_);
    if (folder != nullptr &&
        (is_due(save_due, agreed.save) || last || outcome_.interrupted || outcome_.reached_target)) {
      if (best == MetricName::loss) save_if_best(*folder);
      save(*folder);
    }
  }
  if (folder != nullptr && is_first() && state_.step > 0 && loader_) write_trace(*folder);
  outcome_.step = state_.step;
  outcome_.seconds = seconds_now() - start;
  return outcome_;
}

}  // namespace troika
