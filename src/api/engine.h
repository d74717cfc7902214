// The implementation behind the public Trainer. An interface, because the source that implements it
// uses the library's own Strategy, and the source that calls it the public type of that name.
#pragma once

#include <troika/loss.h>
#include <troika/nn.h>
#include <troika/optim.h>
#include <troika/training.h>

#include <memory>
#include <string>
#include <vector>

#include "api/plans.h"

namespace troika::internal {

struct EngineRequest {
  nn::Module network;
  data::Source samples;
  loss::Loss loss;
  optim::Optimizer optimizer;
  TrainerOptions options;
};

/// Each function as its namesake of the public Trainer.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual FitResult fit(const Plan& plan, const FitOptions& options) = 0;
  virtual Score evaluate(const data::Source& samples) = 0;
  virtual void save(const std::string& path) = 0;
  virtual void load(const std::string& path) = 0;
  virtual std::vector<std::string> start_from(const std::string& path) = 0;
  virtual std::vector<NamedParameter> parameters() const = 0;
};

std::unique_ptr<Engine> make_engine(const EngineRequest& request);

}  // namespace troika::internal
