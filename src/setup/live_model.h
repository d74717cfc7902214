// A model ready to run: its parameters on devices, and the programs (training, evaluation,
// prediction) that share them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "lower/lower.h"
#include "runtime/session.h"
#include "setup/runtime_setup.h"
#include "strategy/strategy.h"
#include "zoo/zoo.h"

namespace troika {

/// Builds the model that the [model] section names, for samples of this form.
zoo::Model build_model(const ModelConfig& config, const zoo::Samples& samples);

/// Throws Error(usage) if a strategy names an operator, a parameter or a message that none of the
/// model's graphs has, as a misspelt name in a plan file does.
void require_names(const zoo::Model& model, const Strategy& strategy);

/// About how many bytes a device touches in a training step under a plan that splits samples and
/// not parameters.
Bytes step_bytes(const zoo::Model& model, std::int64_t devices);

/// Candidate kernels for each of some rows.
using KernelAnswer =
    std::function<std::vector<std::vector<Candidate>>(const std::vector<KernelRequest>&)>;

/// Throws Error(usage) with the reason.
[[noreturn]] void refuse(const Infeasible& infeasible);
/// Asks for the rows and adds them to the table.
void add_rows(const MissingRows& missing, const KernelAnswer& answer, KernelTable& table);

/// Lowers a program: asks `answer` for the rows that the kernel table lacks and lowers again, until
/// none is missing. Adds the rows to `table`. Throws Error(usage) with the reason if the strategy
/// is infeasible.
TaskGraph compile_program(const LowerRequest& request, const KernelAnswer& answer,
                          KernelTable& table);

struct ForwardProgram {
  std::string name;
  const Graph* graph = nullptr;
  std::vector<std::string> outputs{};
};

/// The programs of a run, independent of the strategy. All borrowed.
struct RunPrograms {
  const RunConfig& config;
  std::vector<const zoo::Model*> models{};  ///< One per batch size, all with the same state.
  std::optional<ForwardProgram> forward{};
};

/// Add all programs, call start(), then initialize() or load the state, then run(). Not
/// thread-safe.
class LiveModel {
 public:
  explicit LiveModel(RuntimeSetup setup);

  /// Adds a training program for each graph of the model, with the name of the graph.
  void add_training(const zoo::Model& model, const RunConfig& config, const Strategy& strategy);
  /// Adds a forward program in inference mode. Its outputs may include "loss_sum" and "weight_sum"
  /// in addition to the graph's own.
  void add_forward(const ForwardProgram& program);
  /// Lowers a run's programs under another strategy and machine without adding them, to predict the
  /// memory they need. Kernels that were not measured are chosen by rule. Throws Error(usage) if
  /// the strategy is infeasible.
  std::vector<TaskGraph> plan_programs(const RunPrograms& run, const Strategy& strategy,
                                       const Machine& machine) const;
  /// Returns the programs added so far, each with the tasks of this process's devices.
  std::vector<const TaskGraph*> programs() const;
  /// Returns an added program with the tasks of all devices, to be simulated or shown. Lowers it
  /// again if other processes have devices, which takes time and memory in proportion to them.
  TaskGraph whole_program(const std::string& name) const;
  /// Called after the last program is added. Allocates exactly the predicted memory.
  void start();

  /// Sets initial weights; each value is a function of (seed, parameter name, element).
  void initialize(std::uint64_t seed);

  /// Runs one step of a program. Collective.
  void run(const std::string& program);

  Session& session() { return session_; }
  const Session& session() const { return session_; }
  const RuntimeSetup& setup() const { return setup_; }
  const KernelTable& kernels() const { return kernels_; }
  /// Hash of the kernel and layouts chosen for every task of every program, whichever process runs
  /// it. Collective.
  std::uint64_t choices_hash() const;

 private:
  /// The inputs of lowering a program, kept to lower it again.
  struct ProgramSource {
    Graph graph;
    Strategy strategy;
    std::optional<OptimizerSpec> optimizer{};
    std::vector<std::string> outputs{};
    std::vector<StateEntry> storage{};
    std::set<std::string> plain{}, updated_elsewhere{};
  };

  void add(const LowerRequest& request);

  RuntimeSetup setup_;
  KernelTable kernels_;
  Session session_;
  Strategy strategy_;                            // of training; forward programs use it too
  std::map<std::string, Parameter> parameters_;  // by name, over all graphs
  std::vector<std::string> programs_;
  std::map<std::string, ProgramSource> sources_;  // by program; empty if all devices are here
};

/// Returns the initial values of a parameter, or of a region of it, in its element type.
std::vector<std::byte> initial_values(const Parameter& parameter, std::uint64_t seed);
std::vector<std::byte> initial_values(const Parameter& parameter, const Region& region,
                                      std::uint64_t seed);

}  // namespace troika
