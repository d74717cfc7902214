// For tests: trains a small version of a model for a few steps under a strategy.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "config/load_run.h"
#include "seeded_inputs.h"
#include "setup/live_model.h"
#include "strategy/strategy.h"
#include "verify/movement.h"
#include "zoo/testing/small_models.h"

namespace troika {

struct SmallCase {
  std::string model;
  std::int64_t shards = 1;
  std::string optimizer = "sgd";
  bool cpu_kernels = false;  ///< In f32, chosen by rule, no winograd; else reference in f64.
  std::int64_t threads = 1;
  bool guards_gradient = false;
  bool clips = false;       ///< Clips the gradient to a norm that all small models exceed.
  std::uint64_t seed = 5;   ///< Seed of weights and inputs.
  std::uint64_t nudge = 0;  ///< If not 0, nudge_weights() is called with it.
  std::int64_t hidden = 0;  ///< If not 0, the width of recurrent layers.

  auto operator<=>(const SmallCase&) const = default;

  /// Learning rate. In f64 it is small, so that rounding is not amplified: at 0.001, sums in
  /// another order move inception_v3 by 1e-8 within five steps. In f32 it is large enough that the
  /// movement is not lost in the rounding of the weight; deep models have steep gradients.
  double rate() const {
    if (!cpu_kernels) return 1e-5;
    if (model == "inception_v3") return 5e-5;
    return model == "googlenet" || model.starts_with("resnet") ? 1e-3 : 1e-2;
  }
};

inline RunConfig config_for(const SmallCase& asked, std::int64_t devices) {
  std::vector<std::string> overrides{
      "train.steps=1",
      asked.cpu_kernels ? "kernels.backend=cpu" : "kernels.backend=reference",
      asked.cpu_kernels ? "kernels.dtype=f32" : "kernels.dtype=f64",
      "kernels.winograd=false",
      "kernels.measure=false",
      "parallel.threads=" + std::to_string(asked.threads),
      "train.shards=" + std::to_string(asked.shards),
      "optimizer.name=" + asked.optimizer,
      "parallel.plan=data",
      "parallel.devices=" + std::to_string(devices)};
  if (asked.optimizer == "sgd") overrides.push_back("optimizer.momentum=0.9");
  if (asked.guards_gradient) overrides.push_back("train.guard=gradient");
  if (asked.clips) overrides.push_back("train.clip_norm=0.01");
  return parse_run("[model]\nname = \"" + asked.model + "\"\n[data]\ntrain = \"digits:train\"\n",
                   "small.toml", overrides)
      .config;
}

inline zoo::Model build_small(const SmallCase& asked) {
  zoo::ModelRequest request = zoo::small_request(asked.model);
  // The deepest models are trained under many plans, so their images are the smallest possible. In
  // f32 they are even smaller, so that few inputs of a relu are near zero.
  std::int64_t side = asked.cpu_kernels ? 8 : 16;
  if (asked.model == "resnet18") request.samples = zoo::images({3, side, side});
  if (asked.model == "resnet50" && asked.cpu_kernels)
    request.samples = zoo::images({3, side, side});
  if (asked.model == "resnet101") request.samples = zoo::images({1, side, side});
  request.samples.dtype = asked.cpu_kernels ? DType::f32 : DType::f64;
  request.samples.batch = asked.shards == 1 ? 8 : 16;
  request.samples.shards = asked.shards;
  for (zoo::Option& option : request.options)
    if (asked.hidden > 0 && (option.name == "hidden" || option.name == "width"))
      option.value = asked.hidden;
  return zoo::build(request);
}

/// The state before the first, after the first and after the last step, and the losses of all
/// steps.
struct SmallTraining {
  std::vector<StateTensor> start, first, last;
  std::vector<double> losses;
};

constexpr int kSmallSteps = 5;

/// Runs all programs of the model once and returns their losses.
inline std::vector<double> run_small_step(Session& session, const zoo::Model& model,
                                          std::uint64_t seed) {
  std::vector<double> losses;
  for (const zoo::NamedGraph& graph : model.graphs) {
    for (TensorId input : graph.graph.inputs)
      session.write_input(graph.name, graph.graph[input].name,
                          seeded_values(graph.graph, input, seed));
    session.run(graph.name);
    losses.push_back(session.read_control(Control::loss));
  }
  return losses;
}

/// Checks that all devices that store an element store the same value.
inline void check_copies(Session& session) {
  for (const StateEntry& entry : session.state()) {
    std::vector<std::byte> whole(static_cast<std::size_t>(entry.spec.bytes().count));
    session.store(entry.name, whole);
    std::int64_t size = size_of(entry.spec.dtype).count;
    for (const StoredSlice& slice : session.slices_here(entry.name)) {
      std::vector<std::byte> part(static_cast<std::size_t>(slice.region.elements() * size));
      session.store(slice, part);
      auto next = part.begin();
      for_each_run(entry.spec.shape, slice.region, [&](std::int64_t offset, std::int64_t length) {
        auto end = next + length * size;
        TROIKA_CHECK(std::equal(next, end, whole.begin() + offset * size),
                     "copies of " + entry.name + " differ in " + to_string(slice.region));
        next = end;
      });
    }
  }
}

/// Precondition: the session has started and has initial weights.
inline SmallTraining run_small(Session& session, const zoo::Model& model, const SmallCase& asked) {
  session.write_scalar(Scalar::learning_rate, asked.rate());
  session.write_scalar(Scalar::key_low, 77);
  SmallTraining training{.start = read_tensors(session, model)};
  for (int number = 0; number < kSmallSteps; ++number) {
    session.write_scalar(Scalar::update_step, number + 1);
    std::ranges::copy(run_small_step(session, model, asked.seed),
                      std::back_inserter(training.losses));
    if (number == 0) training.first = read_tensors(session, model);
  }
  training.last = read_tensors(session, model);
  return training;
}

inline SmallTraining train_small(const SmallCase& asked, std::int64_t devices,
                                 const Strategy& strategy) {
  RunConfig config = config_for(asked, devices);
  LiveModel live(set_up_runtime(config.kernels, config.parallel));
  zoo::Model model = build_small(asked);
  live.add_training(model, config, strategy);
  live.start();
  live.initialize(asked.seed);
  if (asked.nudge != 0) nudge_weights(live.session(), model, asked.nudge);
  SmallTraining training = run_small(live.session(), model, asked);
  check_copies(live.session());
  return training;
}

inline Machine machine_of(std::int64_t devices) {
  Machine machine;
  machine.devices.resize(static_cast<std::size_t>(devices));
  return machine;
}

/// Merges the strategies that `make` returns for each graph of the model.
template <class Make>
Strategy for_all_graphs(const SmallCase& asked, const Make& make) {
  std::optional<Strategy> all;
  for (const zoo::NamedGraph& named : build_small(asked).graphs) {
    Strategy own = make(named.graph);
    if (!all) all = own;
    all->splits.merge(own.splits);
    all->micro_batches = std::min(all->micro_batches, own.micro_batches);
  }
  return *all;
}

}  // namespace troika
