// Builds a training run and sets where it starts. The loop itself is in training_loop.cpp.
#include "train/training_run.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "config/run_paths.h"
#include "config/show_run.h"
#include "data/held_out.h"
#include "setup/choose_strategy.h"
#include "setup/device_speeds.h"
#include "setup/memory_fit.h"
#include "setup/optimizer_rules.h"
#include "train/evaluate.h"
#include "train/feeds.h"
#include "train/fingerprint.h"
#include "train/run_record.h"

namespace troika {
namespace {

/// The ranks compare their runs first. Everything after that is collective, and ranks that disagree
/// would wait for each other forever.
LiveModel agreed_model(const RunConfig& config, const TrainingSets& sets, const TrainHooks& hooks) {
  if (hooks.ranks->count() > 1)
    hooks.ranks->require_agreement("run", fingerprint_of_run(config, sets));
  RuntimeSetup setup = set_up_runtime(config.kernels, config.parallel,
                                      {hooks.costs, hooks.measures_anew}, *hooks.ranks);
  if (config.parallel.weights == ParallelConfig::Weights::measured)
    setup.machine = with_speeds(std::move(setup.machine), measure_speeds(setup));
  else if (hooks.ranks->count() > 1 && setup.is_measured)
    setup.machine = with_slow_ranks(std::move(setup.machine), measure_speeds(setup));
  return LiveModel(std::move(setup));
}

/// Returns the number of predicted tokens; absent if samples are not sequences.
std::optional<std::int64_t> tokens_per_sample(const data::Encoding& encoding) {
  using enum data::SampleKind;
  if (encoding.kind() != sequence && encoding.kind() != pairs) return std::nullopt;
  return encoding.find("target")->spec.shape[0];
}

void require_same_held_out(const RunState& saved, const RunState& now) {
  // Without held-out samples now there is no validation on samples of the training set.
  if (saved.held_out == now.held_out || now.held_out.empty()) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the checkpoint was trained with {} held out, but this run would hold out "
                  "{} and validate on samples that were trained on; leave data.train and "
                  "data.validation unchanged, or start a new run with --from",
                  saved.held_out.empty() ? "no samples" : saved.held_out, now.held_out));
}

std::string shuffling(std::int64_t window) {
  return window > 0 ? fmt::format("shuffled within windows of {}", window)
                    : "shuffled over the whole set";
}

/// Begins a plan hash. Earlier versions hashed another text of the same plan, without it, which
/// says nothing about whether the plan is another one.
constexpr std::string_view kPlanHash = "plan 2 ";

/// Warns of everything that makes the resumed run differ from one that was never stopped.
void report_differences(const RunState& saved, const RunState& now, Progress& progress) {
  if (saved.model_hash != now.model_hash)
    progress.warn("the model differs from the one that the checkpoint was made with");
  bool is_other_plan = saved.plan_hash.starts_with(kPlanHash) && saved.plan_hash != now.plan_hash;
  if (is_other_plan)
    progress.note(
        "the checkpoint was made under another plan; the run continues, but its results will "
        "differ in the last bits");
  // Under another plan tiles have other sizes and therefore other kernels, so only the device
  // counts.
  if (is_other_plan ? saved.device != now.device : saved.choices_hash != now.choices_hash)
    progress.warn(
        fmt::format("the checkpoint was made on '{}' with other kernels than '{}' uses; the run "
                    "continues, but its results will differ in the last bits",
                    saved.device, now.device));
  if (saved.samples && saved.samples != now.samples)
    progress.warn(
        "the training data is encoded differently from the checkpoint's: its normalisation, "
        "classes or vocabulary changed");
  if (saved.window && saved.window != now.window)
    progress.warn(
        fmt::format("the checkpoint's samples were {}, but now they are {}; the order changes in "
                    "the middle of an epoch, so this epoch repeats some samples and omits others",
                    shuffling(*saved.window), shuffling(*now.window)));
}

Progress& listener(Progress* given, Progress& silent) { return given != nullptr ? *given : silent; }

}  // namespace

TrainingRun::TrainingRun(RunConfig config, ModelSource source, TrainingSets sets, TrainHooks hooks)
    : config_(std::move(config)),
      source_(std::move(source)),
      sets_(std::move(sets)),
      hooks_(std::move(hooks)),
      progress_(listener(hooks_.progress, silent_)),
      course_(config_.train, sets_.train->size()),
      rates_(make_rate_schedule(config_.optimizer, course_.length())),
      live_(agreed_model(config_, sets_, hooks_)),
      steps_({live_, *sets_.train, models_, config_.kernels.dtype}),
      reporter_(
          {progress_, live_.setup().devices.size(), tokens_per_sample(sets_.train->encoding())}) {
  build();
}

void TrainingRun::build() {
  RunPrograms programs = make_models();
  const zoo::Model& first = *programs.models.front();
  require_evaluable(config_, sets_, first);
  if (evaluates() || hooks_.evaluates) programs.forward = evaluation_program(first.train());
  // Memory is checked twice. Adding programs measures kernels, which needs memory itself, so a run
  // that cannot fit is refused before. The exact need is known only once kernels are chosen.
  require_fit_to_measure({live_, programs, strategy_});
  for (const zoo::Model* model : programs.models) live_.add_training(*model, config_, strategy_);
  // After the training programs, because they decide where parameters are stored.
  if (programs.forward) live_.add_forward(*programs.forward);
  // Ranks are compared before memory is checked, so that a rank that differs is reported as such
  // and not as one that lacks memory.
  if (has_peers())
    hooks_.ranks->require_agreement("plan",
                                    fingerprint_of_programs(live_, first.train(), strategy_));
  memory_ = gather_memory(live_);
  require_fit({live_, programs, strategy_}, memory_);
  live_.start();
  describe_state(first);
}

/// Builds a model for each batch size and chooses the strategy with the first of them.
RunPrograms TrainingRun::make_models() {
  RunPrograms programs{.config = config_};
  for (std::int64_t batch : course_.batches()) {
    zoo::Samples samples = troika::samples_of(sets_.train->encoding(), config_, batch);
    zoo::Model& model = models_[batch] = source_(samples);
    require_fed(model, samples);
    freeze_parameters(model, config_.train.freeze);
    if (programs.models.empty()) {
      strategy_ = hooks_.strategy ? *hooks_.strategy : agreed_strategy(model);
    }
    // Programs of all batch sizes share one session, in which names are unique.
    for (zoo::NamedGraph& graph : model.graphs) graph.name = program_name(graph, batch);
    require_feasible(model, batch);
    programs.models.push_back(&model);
  }
  return programs;
}

/// Ranks that searched by themselves would measure other kernel times and find other plans.
Strategy TrainingRun::agreed_strategy(const zoo::Model& model) const {
  const RuntimeSetup& setup = live_.setup();
  auto choose = [&] { return choose_strategy({config_, model, setup.machine, setup.links}); };
  if (!config_.parallel.plan.is_auto() || !has_peers()) return choose();
  return parse_strategy(hooks_.ranks->agree(is_first() ? to_json(choose()) : ""));
}

void TrainingRun::require_feasible(const zoo::Model& model, std::int64_t batch) const {
  if (auto reason = why_for_another_model(strategy_, model.train()))
    throw Error(ErrorKind::usage, *reason);
  for (const zoo::NamedGraph& named : model.graphs) {
    Strategy own = restricted(strategy_, named.graph);
    if (auto reason = why_infeasible(own, named.graph, live_.setup().machine))
      throw Error(ErrorKind::usage,
                  "the strategy cannot run: " + *reason + batch_note(strategy_, batch));
  }
}

void TrainingRun::describe_state(const zoo::Model& model) {
  Strategy plan = strategy_;
  // Where a plan was made does not change what it computes.
  plan.made_for.reset();
  plan.made_on.reset();
  plan.made_for_batch.reset();
  plan.optimizer.clear();
  state_.seed = static_cast<std::uint64_t>(config_.train.seed);
  state_.model_hash = fmt::format("{:016x}", model_hash(model.train()));
  state_.plan_hash = fmt::format("{}{:016x}", kPlanHash, hash_text(to_json(plan)));
  state_.choices_hash = fmt::format("{:016x}", live_.choices_hash());
  state_.device = live_.setup().device().kind();
  state_.run = write_toml(with_absolute_paths(config_));
  state_.samples = sets_.train->encoding();
  state_.window = sets_.train->window();
  if (data::is_part(config_.data.validation))
    state_.held_out = fmt::format("{} of {} samples", config_.data.validation,
                                  sets_.train->size() + sets_.validation->size());
  if (std::optional<Metric> best = config_.best_metric())
    state_.best_metric = std::string(to_word(*best));
}

std::string TrainingRun::program_name(const zoo::NamedGraph& graph, std::int64_t batch) const {
  return batch == course_.batches().front() ? graph.name : fmt::format("{}@{}", graph.name, batch);
}

void TrainingRun::initialize() { live_.initialize(state_.seed); }

std::vector<std::string> TrainingRun::start_from(const std::filesystem::path& weights) {
  initialize();
  started_from_weights_ = true;
  return load_weights(weights, live_, sets_.train->encoding());
}

void TrainingRun::resume(const Checkpoint& checkpoint) {
  const RunState saved = load_state(checkpoint, live_);
  require_same_held_out(saved, state_);
  report_differences(saved, state_, progress_);
  state_.step = saved.step;
  state_.position = saved.position;
  // The order of samples and dropout continue only with the seed that they began with.
  state_.seed = saved.seed;
  state_.seconds = saved.seconds;
  // The value of another metric says nothing about this one.
  bool is_same_metric = saved.best_metric == state_.best_metric;
  state_.best_value = is_same_metric ? saved.best_value : std::nullopt;
  state_.evaluations_since_best = is_same_metric ? saved.evaluations_since_best : 0;
}

void TrainingRun::resume(TrainingRun& earlier) {
  copy_state(earlier.live_, live_);
  // The flag that skips updates after a loss that is not finite is not part of the state.
  live_.session().write_control(Control::ok, earlier.live_.session().read_control(Control::ok));
  // These two describe how this run computes and not how far it is.
  RunState own = std::exchange(state_, earlier.state_);
  state_.plan_hash = own.plan_hash;
  state_.choices_hash = own.choices_hash;
}

void TrainingRun::set_length(std::int64_t total_steps, const Period& log_every) {
  config_.train.steps = total_steps;
  config_.log.every = log_every;
  course_ = Course(config_.train, sets_.train->size());
  rates_ = make_rate_schedule(config_.optimizer, course_.length());
  outcome_ = {};
}

void TrainingRun::set_patience(std::optional<std::int64_t> evaluations) {
  config_.train.patience = evaluations;
  state_.best_value.reset();
  state_.evaluations_since_best = 0;
}

const data::Dataset* TrainingRun::samples_of(Metric::Set set) const {
  switch (set) {
    case Metric::Set::train:
      return sets_.train.get();
    case Metric::Set::validation:
      return sets_.validation.get();
    case Metric::Set::test:
      return sets_.test.get();
  }
  return nullptr;
}

bool TrainingRun::evaluates() const {
  return samples_of(config_.evaluated_set()) != nullptr &&
         config_.train.evaluate.unit != PeriodUnit::never;
}

double TrainingRun::epoch() const {
  return static_cast<double>(state_.position) / static_cast<double>(sets_.train->size());
}

double TrainingRun::rate_at(std::int64_t step) const {
  return learning_rate(rates_, step, course_.total_steps());
}

std::vector<Fact> TrainingRun::facts() const {
  return describe_run({config_, model(), sets_, course_, live_, memory_});
}

}  // namespace troika
