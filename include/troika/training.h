// Options and results of a Trainer. All types here are plain values.
#pragma once

#include <troika/data.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troika {

enum class Kernels {
  fast,       ///< oneDNN; Error(usage) if Troika was built without it.
  reference,  ///< Simple and slow; the same on every machine.
};

/// Settings that hold for the life of a Trainer, which checks them in its constructor.
///
///   troika::TrainerOptions options{.global_batch = 32, .freeze = {"features.*"}};
///   options.validation = troika::data::open("digits:test?size=200", {.like = train});
struct TrainerOptions {
  /// Samples per step, over all devices; at least 1.
  std::int64_t global_batch = 64;
  /// Seeds the initial weights, the sample order and dropout. Equal seeds give equal runs.
  std::int64_t seed = 1;
  /// Threads of each device. 0: the usable cores, shared out between the devices of the plan.
  int threads = 0;
  /// Parts of the global batch over which batch norm takes its statistics; divides global_batch.
  std::int64_t shards = 1;
  /// A gradient with a larger norm, taken over all parameters, is scaled down to this norm.
  std::optional<double> clip_norm{};
  /// Patterns over parameter names, such as "features.*"; what matches is not trained.
  std::vector<std::string> freeze{};
  /// Evaluated after every epoch of a fit and at its end. Early stopping looks at it.
  std::optional<data::Source> validation{};
  /// Evaluated at the end of a fit. Without `validation` it takes its place.
  std::optional<data::Source> test{};
  Kernels kernels = Kernels::fast;
};

/// State of a run after some of its steps.
struct StepMetrics {
  std::int64_t step = 0;  ///< Steps done, over all fits of the trainer.
  std::int64_t total_steps = 0;
  double epoch = 0;  ///< Passes over the samples so far.
  double loss = 0;   ///< Mean since the last report.
  double learning_rate = 0;
  double samples_per_second = 0;
};

/// Result of an evaluation: means over its samples. Those of numbers to predict are in the units of
/// the samples, squared in the case of a squared loss.
struct Score {
  double loss = 0;
  std::optional<double> accuracy{};        ///< In [0, 1]; of classifiers only.
  std::optional<double> absolute_error{};  ///< Mean |prediction - target|; of regressions only.
  std::int64_t samples = 0;
};

/// The length of one fit, and its callbacks. Borrowed by fit() until it returns.
///
/// Callbacks run on the thread that called fit(), between two steps. They may call save() of the
/// trainer, but no other member of it. An exception from a callback ends the fit and propagates to
/// its caller.
///
///   trainer.fit(plan, {.epochs = 50, .patience = 3, .on_evaluation = [](const auto& score) {
///                        std::printf("loss %.4f\n", score.loss);
///                      }});
struct FitOptions {
  /// State at most one of the two; 1 epoch if neither is stated.
  std::optional<std::int64_t> epochs{};
  std::optional<std::int64_t> steps{};
  /// Early stopping: the fit ends after so many evaluations in a row without a lower loss. Needs
  /// samples for validation. The weights stay those of the last step.
  std::optional<std::int64_t> patience{};
  /// Steps between two calls of on_step; the last step is always reported.
  std::int64_t report_every = 50;
  std::function<void(const StepMetrics&)> on_step{};
  /// Called after each evaluation of the validation samples, or of the test samples without those.
  std::function<void(const Score&)> on_evaluation{};
  /// Called after each step; the fit ends when it returns true.
  std::function<bool()> stop_requested{};
};

struct FitResult {
  std::int64_t step = 0;              ///< Steps done, over all fits of the trainer.
  std::optional<double> loss{};       ///< Mean since the last report; absent if no step was left.
  std::optional<Score> validation{};  ///< The last one.
  std::optional<Score> test{};        ///< The last one; absent if the fit was interrupted.
  bool stopped_early = false;         ///< By FitOptions::patience.
  bool interrupted = false;           ///< By stop_requested.
  double seconds = 0;
};

/// The answer of a network to one sample.
struct SamplePrediction {
  std::int32_t label = 0;         ///< Classifiers: the most probable class,
  double probability = 0;         ///< and its probability.
  std::vector<double> numbers{};  ///< Regressions: the predicted numbers.
};

/// A parameter of the network, by the name that files and patterns use.
struct NamedParameter {
  std::string name;
  std::vector<std::int64_t> shape;
  bool trained = true;  ///< False: frozen.
};

}  // namespace troika
