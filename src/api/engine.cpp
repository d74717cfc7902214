#include "api/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/build_network.h"
#include "api/plan.h"
#include "api/run_settings.h"
#include "api/shared_dataset.h"
#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "setup/optimizer_rules.h"
#include "train/evaluate.h"
#include "train/training_run.h"

namespace troika::internal {
namespace {

Score to_score(const Figures& figures, std::int64_t samples) {
  return {find(figures, Metric::Measure::loss).value_or(0),
          find(figures, Metric::Measure::accuracy), samples};
}

/// Hands the training's reports to the callbacks of the fit that is going on.
class Callbacks final : public Progress {
 public:
  explicit Callbacks(std::int64_t test_samples) : test_samples_(test_samples) {}

  void listen_to(const FitOptions* options) { options_ = options; }

  void step(const StepReport& report) override {
    if (!options_->on_step) return;
    options_->on_step({report.step, report.total_steps, report.epoch, report.loss,
                       report.learning_rate, report.samples_per_second});
  }
  void evaluated(const EvaluationReport& report) override {
    if (options_->on_evaluation) options_->on_evaluation(score(report));
  }
  bool stop_requested() const { return options_->stop_requested && options_->stop_requested(); }

  Score score(const EvaluationReport& report) const {
    return to_score(report.figures, test_samples_);
  }

 private:
  const FitOptions* options_ = nullptr;  // never null while a fit goes on
  std::int64_t test_samples_;
};

void require_count(const char* option, std::int64_t value, std::int64_t largest) {
  if (value >= 1 && value <= largest) return;
  throw Error(ErrorKind::usage,
              fmt::format("FitOptions: '{}' must be from 1 to {}, not {}", option, largest, value));
}

void check(const FitOptions& options) {
  if (options.epochs && options.steps)
    throw Error(ErrorKind::usage, "FitOptions: both 'epochs' and 'steps' are stated; keep one");
  require_count("epochs", options.epochs.value_or(1), 1'000'000);
  require_count("steps", options.steps.value_or(1), 1'000'000'000);
  require_count("report_every", options.report_every, 1'000'000'000);
}

class TrainingEngine final : public Engine {
 public:
  explicit TrainingEngine(const EngineRequest& request)
      : config_(to_config(request.options, request.optimizer)),
        samples_(request.samples.dataset()),
        source_([network = request.network, loss = request.loss](const zoo::Samples& samples) {
          return build_network(network, loss, samples);
        }),
        callbacks_(request.options.test ? request.options.test->size() : 0) {
    if (request.options.test) test_ = request.options.test->dataset();
    if (test_) check_fit(samples_->encoding(), test_->encoding());
    zoo::Model model =
        source_(samples_of(samples_->encoding(), config_, config_.train.global_batch));
    freeze_parameters(model, config_.train.freeze);
    graph_ = model.train();
  }

  FitResult fit(const Plan& plan, const FitOptions& options) override {
    check(options);
    TrainingRun& training = training_for(plan.strategy);
    training.set_length(steps_after(options),
                        {static_cast<double>(options.report_every), PeriodUnit::steps});
    callbacks_.listen_to(&options);
    TrainOutcome outcome = training.run(nullptr);
    FitResult result{.step = outcome.step,
                     .loss = outcome.loss,
                     .interrupted = outcome.interrupted,
                     .seconds = outcome.seconds};
    if (const EvaluationReport* test = outcome.evaluation(Metric::Set::test))
      result.score = callbacks_.score(*test);
    return result;
  }

  Score evaluate(const data::Source& samples) override {
    check_fit(samples_->encoding(), samples.dataset()->encoding());
    Evaluation found = troika::evaluate(live(), *samples.dataset(), config_.train.global_batch,
                                        config_.kernels.dtype);
    return to_score(found.figures, found.samples);
  }

  void save(const std::string& path) override {
    std::vector<TensorEntry> entries = parameter_entries();
    save_safetensors(path, entries, [&](std::size_t index, std::span<std::byte> bytes) {
      live().session().store(entries[index].name, bytes);
    });
  }

  void load(const std::string& path) override {
    SafetensorsFile file(path);
    std::vector<TensorEntry> entries = parameter_entries();
    for (const TensorEntry& entry : entries) (void)file.bytes(entry);
    for (const TensorEntry& entry : entries) live().session().load(entry.name, file.bytes(entry));
    forget_failure();
  }

  std::vector<std::string> start_from(const std::string& path) override {
    std::vector<std::string> kept = load_weights(path, live());
    forget_failure();
    return kept;
  }

  std::vector<NamedParameter> parameters() const override {
    std::vector<NamedParameter> named;
    for (const Parameter& parameter : graph_.parameters) {
      const Shape& shape = parameter.spec.shape;
      named.push_back({parameter.name, {shape.begin(), shape.end()}, parameter.trained});
    }
    return named;
  }

 private:
  /// Steps from the first one of the training to the end of this fit. What a batch takes beyond the
  /// end of an epoch belongs to the next one.
  std::int64_t steps_after(const FitOptions& options) {
    const RunState& state = training_->state();
    std::int64_t batch = config_.train.global_batch;
    if (options.steps) {
      goal_ = state.position + *options.steps * batch;
      return state.step + *options.steps;
    }
    goal_ = std::min(goal_, state.position) + options.epochs.value_or(1) * samples_->size();
    return state.step + (goal_ - state.position + batch - 1) / batch;
  }

  /// One that runs this strategy, with the weights and the progress so far.
  TrainingRun& training_for(const Strategy& strategy) {
    if (training_ && training_->strategy() == strategy) return *training_;
    TrainingSets sets;
    sets.train = std::make_unique<SharedDataset>(samples_);
    if (test_) sets.test = std::make_unique<SharedDataset>(test_);
    TrainHooks hooks{.progress = &callbacks_,
                     .stop_requested = [this] { return callbacks_.stop_requested(); },
                     .strategy = strategy,
                     .evaluates = true};
    if (training_) hooks.costs = training_->live().costs();
    auto made = std::make_unique<TrainingRun>(config_, source_, std::move(sets), std::move(hooks));
    if (training_)
      made->resume(*training_);
    else
      made->initialize();
    training_ = std::move(made);
    return *training_;
  }

  /// Other weights: what was not finite with the old ones no longer keeps them from moving.
  void forget_failure() { live().session().write_control(Control::ok, 1); }

  LiveModel& live() {
    return training_ ? training_->live() : training_for(Strategy::single()).live();
  }

  std::vector<TensorEntry> parameter_entries() {
    std::vector<TensorEntry> entries;
    for (const StateEntry& entry : live().session().state())
      if (entry.category == Category::parameter) entries.push_back({entry.name, entry.spec});
    return entries;
  }

  RunConfig config_;
  std::shared_ptr<const data::Dataset> samples_;
  std::shared_ptr<const data::Dataset> test_;  // null: none
  ModelSource source_;
  Graph graph_;  // of one global batch
  Callbacks callbacks_;
  std::unique_ptr<TrainingRun> training_;  // null until weights are needed
  std::int64_t goal_ = 0;                  // samples at which the last fit was to end
};

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineRequest& request) {
  return std::make_unique<TrainingEngine>(request);
}

}  // namespace troika::internal
