// What a training run is told, and what it tells.
#pragma once

#include <troika/data.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troika {

enum class Kernels {
  fast,       ///< oneDNN; Error(usage) where Troika was built without it.
  reference,  ///< Plain and slow; the same on every machine.
};

struct TrainerOptions {
  /// Samples per step, over all devices.
  std::int64_t global_batch = 64;
  /// Of initial weights, sample order and dropout: runs with equal seeds are equal.
  std::int64_t seed = 1;
  /// Of this process, for plans of several; a plan that names more is refused.
  int devices = 1;
  /// Per device; 0: all cores, shared out.
  int threads = 0;
  /// Parts of the global batch that batch norm takes its statistics from; divides global_batch.
  std::int64_t shards = 1;
  /// The largest norm of a whole gradient.
  std::optional<double> clip_norm{};
  /// Patterns over parameter names ("features.*") of weights that stay as they are.
  std::vector<std::string> freeze{};
  /// Evaluated after every epoch of a fit and at its end.
  std::optional<data::Source> test{};
  Kernels kernels = Kernels::fast;
};

/// How a run stands after some steps.
struct StepMetrics {
  std::int64_t step = 0;  ///< Steps done, over all fits of the trainer.
  std::int64_t total_steps = 0;
  double epoch = 0;  ///< Passes over the samples so far.
  double loss = 0;   ///< Mean since the last report.
  double learning_rate = 0;
  double samples_per_second = 0;
};

/// What an evaluation finds.
struct Score {
  double loss = 0;
  std::optional<double>
      accuracy{};  ///< Share of right answers; absent when the network does not classify.
  std::int64_t samples = 0;
};

/// The callbacks are called on the thread that called fit, between steps. One that throws ends the
/// fit, and what it threw comes out of it.
struct FitOptions {
  /// At most one of the two; 1 epoch if neither is there.
  std::optional<std::int64_t> epochs{};
  std::optional<std::int64_t> steps{};
  /// Steps between two calls of on_step; the last step is always reported.
  std::int64_t report_every = 50;
  std::function<void(const StepMetrics&)> on_step{};
  std::function<void(const Score&)> on_evaluation{};
  /// Asked after each step; true ends the fit there.
  std::function<bool()> stop_requested{};
};

struct FitResult {
  std::int64_t step = 0;         ///< Steps done, over all fits of the trainer.
  std::optional<double> loss{};  ///< Mean since the last report; absent when no step was left.
  std::optional<Score> score{};  ///< The last one of the test set.
  bool interrupted = false;      ///< By stop_requested.
  double seconds = 0;
};

/// A parameter of the network, by the name that files and patterns use.
struct NamedParameter {
  std::string name;
  std::vector<std::int64_t> shape;
  bool trained = true;  ///< False: frozen.
};

}  // namespace troika
