#include "verify/verify_trial.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/cores.h"
#include "setup/optimizer_rules.h"
#include "train/training_run.h"

namespace troika {
namespace {

// Three runs show the usual distances. Twelve find a sign that flips in one run of ten with a
// probability of 72 %.
constexpr std::uint64_t kFewNudges = 3, kMostNudges = 12;

// A flip has the same size in every run, so little more than the largest distance is allowed. A
// larger factor would hide a gradient that is off by 1 %.
constexpr double kTimesSensitivity = 2;
/// A larger distance never counts as rounding, however sensitive the run is.
constexpr double kMostAllowed = 0.5;

/// Records the loss of every step and calls `after_first` after the first.
class StepRecorder : public Progress {
 public:
  std::function<void()> after_first;
  std::vector<double> losses;

  void step(const StepReport& report) override {
    losses.push_back(report.loss);
    if (losses.size() == 1) after_first();
  }
};

/// Another number of threads changes the order of sums inside kernels and nothing else.
RunConfig with_other_threads(RunConfig config) {
  auto usual = static_cast<std::int64_t>(usable_cores().size());
  config.parallel.threads = config.parallel.threads.value_or(usual) == 1 ? 2 : 1;
  return config;
}

}  // namespace

Trained run_trial(const Trial& trial) {
  StepRecorder recorder;
  // A stop request instead of a shorter run: schedules depend on the length of the run.
  TrainHooks hooks{&recorder, [left = trial.steps]() mutable { return --left <= 0; },
                   trial.strategy};
  ModelSource source = [&](const zoo::Samples& samples) {
    return build_model(trial.config.model, samples);
  };
  std::optional<data::Encoding> weights_from;
  if (!trial.from.empty()) weights_from = encoding_of_weights(find_weights(trial.from));
  TrainingRun training(trial.config, source, open_sets(trial.config, weights_from), hooks);
  if (trial.from.empty())
    training.initialize();
  else
    training.start_from(trial.from);
  if (trial.nudge != 0) nudge_weights(training.live().session(), training.model(), trial.nudge);
  // After nudging, so that `start` is where the steps began.
  auto state = [&] { return read_tensors(training.live().session(), training.model()); };
  Trained trained{.start = state()};
  recorder.after_first = [&] { trained.after[1] = state(); };
  training.run(nullptr);
  trained.after[std::ssize(recorder.losses)] = state();
  trained.losses = recorder.losses;
  return trained;
}

std::vector<Finding> compare_trained(const Trained& found, const Trained& truth) {
  std::vector<Finding> findings;
  for (std::size_t at = 0; at < truth.losses.size(); ++at) {
    double difference = std::abs(found.losses.at(at) - truth.losses[at]);
    double apart = difference == 0 ? 0 : difference / std::abs(truth.losses[at]);
    findings.push_back({kLossName, static_cast<std::int64_t>(at) + 1,
                        std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity()});
  }
  for (const auto& [step, state] : truth.after) {
    // Movements are compared, not ends: nudged weights differ from the start on.
    std::vector<StateTensor> moved = moved_to(found.after.at(step), found.start, truth.start);
    for (const TensorDistance& tensor : distances_between({truth.start, moved, state}))
      findings.push_back({tensor.tensor, step, tensor.distance});
  }
  return findings;
}

Sensitivity::Sensitivity(const Trial& trial, const Trained& truth) : trial_(trial), truth_(truth) {
  RunConfig config = with_other_threads(trial.config);
  add(run_trial({.config = config, .steps = trial.steps, .from = trial.from}));
  while (nudges_ < kFewNudges) nudge();
}

bool Sensitivity::nudge() {
  if (nudges_ == kMostNudges) return false;
  Trial nudged = trial_;
  nudged.nudge = ++nudges_;
  add(run_trial(nudged));
  return true;
}

void Sensitivity::allow(std::vector<Finding>& findings) const {
  for (std::size_t at = 0; at < findings.size(); ++at)
    findings[at].allowed =
        std::clamp(kTimesSensitivity * largest_.at(at).distance, float_tolerance(0), kMostAllowed);
}

void Sensitivity::add(const Trained& other) {
  std::vector<Finding> findings = compare_trained(other, truth_);
  if (largest_.empty()) largest_ = findings;
  for (std::size_t at = 0; at < findings.size(); ++at)
    largest_[at].distance = std::max(largest_[at].distance, findings[at].distance);
}

}  // namespace troika
