#include "api/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/build_network.h"
#include "api/plan.h"
#include "api/renormalized_targets.h"
#include "api/run_settings.h"
#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "setup/optimizer_rules.h"
#include "train/evaluate.h"
#include "train/predict.h"
#include "train/training_run.h"

namespace troika::internal {
namespace {

/// A run owns its data sets, but the user's handles keep the samples alive as well.
std::unique_ptr<data::Dataset> shared(const std::shared_ptr<const data::Dataset>& samples) {
  return samples ? std::make_unique<data::ForwardingDataset>(samples) : nullptr;
}

std::shared_ptr<const data::Dataset> with_target_normalization(
    const std::shared_ptr<const data::Dataset>& samples,
    const std::optional<data::Normalization>& target) {
  if (samples->encoding().target_normalization == target) return samples;
  return std::make_shared<RenormalizedTargets>(samples, target);
}

/// The devices that a plan needs. Throws Error(usage) where their numbers have a gap, or if they
/// are too many.
std::int64_t devices_of(const Strategy& strategy) {
  NamedDevices named = named_devices(strategy);
  if (named.has_gap())
    throw Error(ErrorKind::usage,
                fmt::format("the plan names device {} but has {} in all; number its devices from 0 "
                            "without gaps",
                            named.largest, named.known));
  if (named.largest >= kMostLocalDevices)
    throw Error(ErrorKind::usage,
                fmt::format("the plan needs {} devices, over the limit of {}; correct the numbers "
                            "of its devices",
                            named.largest + 1, kMostLocalDevices));
  return named.largest + 1;
}

/// Throws Error(usage) unless the network gives each sample one class, or the numbers to predict.
void require_answers(const Graph& graph, const data::Encoding& samples) {
  bool classifies = samples.classes > 0;
  bool has_logits = std::ranges::count(graph.outputs, "logits", &NamedTensor::name) > 0;
  bool is_single = !classifies || samples.find("target")->spec.shape.rank() == 0;
  if (has_logits == classifies && is_single) return;
  throw Error(ErrorKind::usage,
              "the network cannot predict: that needs one class per sample and cross_entropy, or "
              "numbers to predict and mean_squared_error or mean_absolute_error");
}

std::vector<TensorEntry> parameter_entries(const Session& session) {
  std::vector<TensorEntry> entries;
  for (const StateEntry& entry : session.state())
    if (entry.category == Category::parameter) entries.push_back({entry.name, file_spec(entry)});
  return entries;
}

}  // namespace

Engine::Engine(const EngineRequest& request)
    : config_(to_config(request.options, request.optimizer)),
      source_([network = request.network, loss = request.loss](const zoo::Samples& samples) {
        return build_network(network, loss, samples);
      }),
      model_(source_(samples_of(request.samples.dataset()->encoding(), config_,
                                request.options.global_batch))),
      // Another loss, such as sigmoid cross entropy, gives the numbers a meaning of their own, so
      // they stay as the user has them.
      samples_(compares_targets(model_.train())
                   ? request.samples.dataset()
                   : with_target_normalization(request.samples.dataset(), std::nullopt)),
      validation_(like_training(request.options.validation)),
      test_(like_training(request.options.test)),
      callbacks_(config_.evaluated_set(), evaluated_samples()) {
  freeze_parameters(model_, config_.train.freeze);
}

Engine::~Engine() = default;

Engine::SharedSamples Engine::like_training(const std::optional<data::Source>& samples) const {
  if (!samples) return nullptr;
  // Samples that were opened alone may have measured a mean and a deviation of their own.
  const data::Encoding& trained = samples_->encoding();
  check_fit(trained, samples->dataset()->encoding());
  return with_target_normalization(samples->dataset(), trained.target_normalization);
}

std::int64_t Engine::evaluated_samples() const {
  const SharedSamples& evaluated = validation_ ? validation_ : test_;
  return evaluated ? evaluated->size() : 0;
}

std::string Engine::plan(const PlanConfig& plan, std::int64_t devices) const {
  return ready_plan(plan, model_, devices);
}

FitResult Engine::fit(const std::string& plan, const FitOptions& options) {
  check(options);
  if (options.patience && !validation_ && !test_)
    throw Error(ErrorKind::usage,
                "FitOptions: 'patience' needs samples to evaluate; set TrainerOptions::validation");
  TrainingRun& training = training_for(plan);
  // One run lives through all fits, so its length counts from the first of them.
  training.set_length(steps_after(options),
                      {static_cast<double>(options.report_every), PeriodUnit::steps});
  training.set_patience(options.patience);
  callbacks_.listen_to(options);
  TrainOutcome outcome = training.run(nullptr);
  FitResult result{.step = outcome.step,
                   .loss = outcome.loss,
                   .stopped_early = outcome.stopped_early,
                   .interrupted = outcome.interrupted,
                   .seconds = outcome.seconds};
  if (const EvaluationReport* found = outcome.evaluation(Metric::Set::validation))
    result.validation = to_score(found->figures, validation_->size());
  if (const EvaluationReport* found = outcome.evaluation(Metric::Set::test))
    result.test = to_score(found->figures, test_->size());
  return result;
}

/// Steps from the first one of the training to the end of this fit. Samples that a batch takes
/// beyond the end of an epoch belong to the next epoch.
std::int64_t Engine::steps_after(const FitOptions& options) {
  const RunState& state = training_->state();
  std::int64_t batch = global_batch();
  if (options.steps) {
    goal_ = state.position + *options.steps * batch;
    return state.step + *options.steps;
  }
  // The last fit ended up to a batch beyond its goal. Counting from the goal keeps the ends of
  // epochs from drifting. After an early stop the goal was not reached, so the position counts.
  goal_ = std::min(goal_, state.position) + options.epochs.value_or(1) * samples_->size();
  return state.step + (goal_ - state.position + batch - 1) / batch;
}

/// The run of this plan, with the weights and the progress so far.
TrainingRun& Engine::training_for(const std::string& plan) {
  if (training_ && plan_ == plan && !is_stale_) return *training_;
  TrainHooks hooks{.progress = &callbacks_,
                   .stop_requested = [this] { return callbacks_.stop_requested(); },
                   .strategy = parse_strategy(plan),
                   .evaluates = true};
  RunConfig config = config_;
  config.parallel.devices = devices_of(*hooks.strategy);
  // Another plan usually needs some of the same kernels; they are not measured again.
  if (training_) hooks.costs = training_->live().kernels();
  auto made = std::make_unique<TrainingRun>(
      config, source_, TrainingSets{shared(samples_), shared(validation_), shared(test_)},
      std::move(hooks));
  if (training_)
    made->resume(*training_);
  else
    made->initialize();
  training_ = std::move(made);
  plan_ = plan;
  is_stale_ = false;
  return *training_;
}

/// Without a fit so far, weights live on one device. The next fit takes them over to its plan.
LiveModel& Engine::live() { return training_for(training_ ? plan_ : single_plan()).live(); }

Score Engine::evaluate(const data::Source& samples) {
  SharedSamples given = like_training(samples);
  Evaluation found =
      troika::evaluate(live(), {model_.train(), *given, global_batch(), config_.kernels.dtype});
  return to_score(found.figures, found.samples);
}

std::vector<SamplePrediction> Engine::predict(const data::Source& samples) {
  SharedSamples given = like_training(samples);
  // A few samples are not padded to a whole training batch.
  std::int64_t batch = std::min(global_batch(), given->size());
  zoo::Model model = source_(samples_of(samples_->encoding(), config_, batch));
  bool classifies = samples_->classes() > 0;
  require_answers(model.train(), samples_->encoding());
  // A session takes no programs after its start, so predictions have one of their own.
  LiveModel predictor(set_up_runtime(config_.kernels, config_.parallel));
  add_prediction(predictor, model.train());
  predictor.start();
  copy_state(live(), predictor);
  std::vector<SamplePrediction> predictions;
  if (classifies)
    predict_classes(predictor, *given, batch, [&](const Prediction& found) {
      predictions.push_back({.label = found.predicted, .probability = found.probability});
    });
  else
    predict_numbers(predictor, *given, batch, [&](const NumberPrediction& found) {
      predictions.push_back({.numbers = {found.predicted.begin(), found.predicted.end()}});
    });
  return predictions;
}

void Engine::save(const std::string& path) {
  Session& session = live().session();
  std::vector<TensorEntry> entries = parameter_entries(session);
  save_safetensors(path, entries, [&](std::size_t index, std::span<std::byte> bytes) {
    session.store(entries[index].name, bytes);
  });
}

void Engine::load(const std::string& path) {
  SafetensorsFile file(path);
  Session& session = live().session();
  std::vector<TensorEntry> entries = parameter_entries(session);
  // All are looked up before the first is loaded, so that an error changes nothing.
  for (const TensorEntry& entry : entries) (void)file.bytes(entry);
  for (const TensorEntry& entry : entries) session.load(entry.name, file.bytes(entry));
  forget_failure();
}

/// The output layer of a regression predicts normalised numbers, so their mean and deviation belong
/// to the weights: those of the checkpoint replace those of the samples.
void Engine::adopt_target_normalization(const std::filesystem::path& weights) {
  std::optional<data::Encoding> trained = encoding_of_weights(weights);
  const data::Encoding& own = samples_->encoding();
  if (!trained || !compares_targets(model_.train()) || !data::predict_alike(*trained, own) ||
      trained->target_normalization == own.target_normalization)
    return;
  for (SharedSamples* set : {&samples_, &validation_, &test_})
    if (*set) *set = with_target_normalization(*set, trained->target_normalization);
  // The run holds the samples in their old unit; training_for() builds another one from its state.
  is_stale_ = training_ != nullptr;
}

std::vector<std::string> Engine::start_from(const std::string& path) {
  // First, because load_weights refuses weights of another unit.
  // Found once, because all bytes of a checkpoint are verified for that.
  const std::filesystem::path weights = find_weights(path);
  adopt_target_normalization(weights);
  std::vector<std::string> kept = load_weights(weights, live(), samples_->encoding());
  forget_failure();
  return kept;
}

/// After a loss that was not finite, updates stay off until there are other weights.
void Engine::forget_failure() { live().session().write_control(Control::ok, 1); }

std::vector<NamedParameter> Engine::parameters() const {
  std::vector<NamedParameter> named;
  for (const Parameter& parameter : model_.train().parameters) {
    Shape shape = parameter.spec.shape.merged(parameter.merged);  // as in files
    named.push_back({parameter.name, {shape.begin(), shape.end()}, parameter.trained});
  }
  return named;
}

}  // namespace troika::internal
