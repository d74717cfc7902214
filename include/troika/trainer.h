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
#include <string_view>
#include <vector>

namespace troika {
namespace internal {
class Engine;
}

/// A network with its weights, and the state of its training.
///
///   troika::Trainer trainer{net, train, troika::loss::cross_entropy(), troika::optim::adam(),
///                           {.global_batch = 64, .validation = validation}};
///   trainer.fit(trainer.plan(troika::this_machine()), {.epochs = 20, .patience = 3});
///   trainer.save("net.safetensors");
///
/// Ownership: a trainer copies its arguments and shares the samples, so they need not outlive the
/// call. Weights are allocated by the first call that needs them; their initial values depend on
/// the seed only.
///
/// Threads: a trainer must not be used by two threads at once, but it may move between threads.
/// Different trainers are independent. The devices of a plan run on threads of the trainer's own.
///
/// Failure: functions throw Error. The trainer can be used afterwards; each function says in which
/// state an error leaves it.
///
/// The first use of a kernel on a machine times the available implementations. The times are kept
/// in the user's cache folder (XDG_CACHE_HOME or ~/.cache, "troika"). Runs from one seed give the
/// same bits as long as these times are kept.
class Trainer {
 public:
  /// Checks the network against the samples; allocates no weights. Throws Error(usage) if the
  /// layers, the samples, the loss or an option do not fit together, naming the layer or the
  /// option.
  Trainer(const nn::Module& network, const data::Source& samples, const loss::Loss& loss,
          const optim::Optimizer& optimizer, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// A plan for this network on that machine. It is chosen by a rule, not by a search: "data" if
  /// the machine has several devices and their number divides the global batch, otherwise
  /// Strategy::single(). Only data parallelism is chosen, since it gives every device the same work
  /// whatever the layers are.
  Strategy plan(const Machine& machine) const;
  /// A ready plan by the name that parallel.plan of a run file gives it: "single", "data",
  /// "tensor", "spatial", "hybrid", "expert", "placed", "branches" or "wavefront"
  /// (docs/parallel.md). An operator that cannot be split as the plan asks is split less. Throws
  /// Error(usage) for another name.
  Strategy plan(const Machine& machine, std::string_view ready) const;
  /// A mixture: plan(machine, {.data = 2, .tensor = 2}). Throws Error(usage) if the machine has too
  /// few devices.
  Strategy plan(const Machine& machine, const PlanDegrees& degrees) const;

  /// Trains on the devices of the plan. Loss and weights are those of one device, up to rounding.
  ///
  /// A further call continues where the last one ended, with the state of the optimizer and the
  /// order of the samples. The learning-rate schedule spans the steps so far and those of this
  /// call. Under another plan the weights are moved first.
  ///
  /// Throws before the first step: Error(usage) if the plan cannot run the network, with the
  /// reason; Error(memory) if it does not fit. Throws Error(numeric), naming the operator, if the
  /// loss is not finite: the weights are then those before that step, and every later fit throws
  /// the same until load() or start_from() has replaced them.
  FitResult fit(const Strategy& plan, const FitOptions& options = {});

  /// Computes the loss over every sample once, without training. Throws Error(usage) if the samples
  /// are of another kind than those trained on.
  Score evaluate(const data::Source& samples);
  /// One prediction per sample, in the order of the samples, which may have no targets. Computed on
  /// one device. Throws Error(usage) if the samples are of another kind than those trained on, or
  /// if the network neither classifies samples nor predicts numbers.
  std::vector<SamplePrediction> predict(const data::Source& samples);

  /// Writes all parameters, running statistics included, to a .safetensors file: all of it, or
  /// nothing and Error(file).
  void save(const std::string& path);
  /// Reads every parameter from such a file and ignores others in it. Throws Error(file), naming
  /// the parameter, if one is missing or has another shape; then no weight has changed.
  /// The file has no normalisation: samples of the trainer must be encoded as those that the
  /// weights were trained on.
  void load(const std::string& path);
  /// Fine-tuning: reads the parameters whose names and shapes match, from a .safetensors file, a
  /// checkpoint or a run folder. Returns the names of the others, which keep their values. Throws
  /// Error(file).
  /// If a checkpoint predicts as many numbers as this trainer, the trainer takes over the mean and
  /// the deviation by which the checkpoint's run normalised them. A .safetensors file does not have
  /// them; its weights are assumed to fit the samples.
  std::vector<std::string> start_from(const std::string& path);

  /// The parameters of the network in the order of its layers.
  std::vector<NamedParameter> parameters() const;

 private:
  std::unique_ptr<internal::Engine> engine_;
};

}  // namespace troika
