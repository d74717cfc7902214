// Trains a network on samples.
#pragma once

#include <troika/data.h>
#include <troika/loss.h>
#include <troika/nn.h>
#include <troika/optim.h>
#include <troika/strategy.h>
#include <troika/training.h>

#include <memory>
#include <string>
#include <vector>

namespace troika {
namespace internal {
class Engine;
}

inline namespace api {

/// A network with its weights, and all that trains them. Owns everything it needs: the arguments
/// may go away. Not safe for use by several threads at once, but may move from one to another;
/// different trainers are independent. The weights are made by the first call that needs them, from
/// the seed.
///
/// On its first use on a machine a kernel is timed, and the times are kept in the user's cache
/// folder (XDG_CACHE_HOME or ~/.cache, "troika"): runs from one seed give the same bits as long as
/// those times are there.
///
/// After an Error a trainer can still be used; each function says what it has left behind.
class Trainer {
 public:
  /// Checks the network against the samples; allocates no weights. Throws Error(usage) when the
  /// layers, the samples, the loss or an option do not fit, naming the layer or the option.
  Trainer(const nn::Module& network, const data::Source& samples, const loss::Loss& loss,
          const optim::Optimizer& optimizer, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// A strategy for this network on that machine. There is no planner yet: it is Strategy::single()
  /// on every machine.
  Strategy plan(const Machine& machine) const;

  /// Trains. A further call goes on from where the last one ended, optimizer state and sample order
  /// included; the learning-rate schedule spans the steps so far and those of this call. Another
  /// plan than last time moves the weights over to it. Throws Error(usage) when the plan cannot run
  /// the network, Error(memory) when it does not fit, both before the first step, and
  /// Error(numeric), naming the operator, when the loss is not finite: then the weights are those
  /// before that step, and no later fit moves them, under whatever plan: it throws the same, until
  /// load() or start_from() has brought other weights.
  FitResult fit(const Strategy& plan, const FitOptions& options = {});

  /// Every sample once, without training. Throws Error(usage) when the samples are not like those
  /// that are trained on.
  Score evaluate(const data::Source& samples);

  /// Writes all parameters, running statistics included, to a .safetensors file, all or nothing.
  /// Throws Error(file).
  void save(const std::string& path);
  /// Reads every parameter from such a file; others in it are left alone. Throws Error(file),
  /// naming the parameter, when one is missing or of another shape; then no weight has changed.
  void load(const std::string& path);
  /// Fine-tuning: reads the parameters whose names and shapes match, from a .safetensors file, a
  /// checkpoint or a run folder, and returns the names of those that keep their values. Throws
  /// Error(file).
  std::vector<std::string> start_from(const std::string& path);

  /// The network's parameters in the order of its layers.
  std::vector<NamedParameter> parameters() const;

 private:
  std::unique_ptr<internal::Engine> engine_;
};

}  // namespace api
}  // namespace troika
