// The implementation of the public Trainer.
//
// The public Strategy and Machine share their names with types of the library, so no source may
// include both <troika/strategy.h> and strategy/strategy.h. Sources that define the public types
// (strategy.cpp, trainer.cpp) call this header and plan.h, which name neither: a plan crosses as
// the text of its file, a machine as its number of devices.
#pragma once

#include <troika/loss.h>
#include <troika/nn.h>
#include <troika/optim.h>
#include <troika/training.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/fit_callbacks.h"
#include "config/run_config.h"
#include "data/dataset.h"
#include "zoo/model.h"

namespace troika {
class LiveModel;
class TrainingRun;
}  // namespace troika

namespace troika::internal {

struct EngineRequest {
  nn::Module network;
  data::Source samples;
  loss::Loss loss;
  optim::Optimizer optimizer;
  TrainerOptions options;
};

/// Each public function is as its namesake of Trainer; plans are texts.
class Engine {
 public:
  explicit Engine(const EngineRequest& request);
  ~Engine();

  std::string plan(const PlanConfig& plan, std::int64_t devices) const;
  FitResult fit(const std::string& plan, const FitOptions& options);
  Score evaluate(const data::Source& samples);
  std::vector<SamplePrediction> predict(const data::Source& samples);
  void save(const std::string& path);
  void load(const std::string& path);
  std::vector<std::string> start_from(const std::string& path);
  std::vector<NamedParameter> parameters() const;

  std::int64_t global_batch() const { return config_.train.global_batch; }

 private:
  using SharedSamples = std::shared_ptr<const data::Dataset>;  // also held by the user's handles

  /// With the normalisation of the numbers that are trained on. Throws Error(usage) if the samples
  /// are of another kind.
  SharedSamples like_training(const std::optional<data::Source>& samples) const;
  std::int64_t evaluated_samples() const;
  std::int64_t steps_after(const FitOptions& options);
  TrainingRun& training_for(const std::string& plan);
  LiveModel& live();
  void adopt_target_normalization(const std::filesystem::path& weights);
  void forget_failure();

  RunConfig config_;
  std::function<zoo::Model(const zoo::Samples&)> source_;
  zoo::Model model_;  // of one global batch
  SharedSamples samples_;
  SharedSamples validation_;  // null: none
  SharedSamples test_;        // null: none
  FitCallbacks callbacks_;
  std::string plan_;                       // that training_ runs
  std::unique_ptr<TrainingRun> training_;  // null until weights are needed
  bool is_stale_ = false;                  // training_ has samples of another normalisation
  std::int64_t goal_ = 0;                  // samples at which the last fit was to end
};

}  // namespace troika::internal
