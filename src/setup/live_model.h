// A model with its state on a device: the programs of a run over one set of parameters.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "lower/lower.h"
#include "runtime/session.h"
#include "setup/runtime_setup.h"
#include "strategy/strategy.h"
#include "zoo/zoo.h"

namespace troika {

/// What a run file says of a model, with the samples it will see.
zoo::Model build_model(const ModelConfig& config, const zoo::Samples& samples);

struct ForwardProgram {
  std::string name;
  const Graph* graph = nullptr;
  std::vector<std::string> outputs{};
};

/// What a run computes, however it is split. All borrowed.
struct RunPrograms {
  const RunConfig& config;
  std::vector<const zoo::Model*> models{};  ///< One for each batch size, all with the same state.
  std::optional<ForwardProgram> forward{};
};

class LiveModel {
 public:
  explicit LiveModel(RuntimeSetup setup);

  /// A training program for each graph of the model, called like the graph.
  void add_training(const zoo::Model& model, const RunConfig& config, const Strategy& strategy);
  /// A forward program of the model's first graph as `inference` sees it. "loss_sum" and
  /// "weight_sum" may be asked for beside the graph's own outputs.
  void add_forward(const ForwardProgram& program);
  /// A run's programs under another strategy and machine, with kernels by rule where none is known:
  /// for finding out what they would need. Throws Error(usage) where the strategy is infeasible.
  std::vector<TaskGraph> plan_programs(const RunPrograms& run, const Strategy& strategy,
                                       const Machine& machine) const;
  /// All so far.
  std::vector<const TaskGraph*> programs() const;
  /// After the last program. Takes the memory that was predicted, to the byte.
  void start();

  /// Initial weights, by (seed, name, element).
  void initialize(std::uint64_t seed);

  /// One step of a program, in which the ranks wait for each other.
  void run(const std::string& program);

  Session& session() { return session_; }
  const Session& session() const { return session_; }
  const RuntimeSetup& setup() const { return setup_; }
  const KernelTable& kernels() const { return kernels_; }
  /// With the kind of device that they hold for.
  CostFile costs() const { return {setup_.device().kind(), kernels_}; }
  /// Changes when any task of any program would run another kernel.
  std::uint64_t choices_hash() const;

 private:
  void add(const LowerRequest& request);

  RuntimeSetup setup_;
  KernelTable kernels_;
  Session session_;
  Strategy strategy_;                            // of training; forward programs follow it
  std::map<std::string, Parameter> parameters_;  // by name, over all graphs
  std::vector<std::string> programs_;
};

/// The initial values of a parameter, or of a region of it, in its own element type.
std::vector<std::byte> initial_values(const Parameter& parameter, std::uint64_t seed);
std::vector<std::byte> initial_values(const Parameter& parameter, const Region& region,
                                      std::uint64_t seed);

}  // namespace troika
