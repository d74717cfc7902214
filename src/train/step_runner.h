// Runs one training step: writes scalars and samples to the devices, runs the model's programs and
// reads the loss. Explains a loss that is not finite.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "setup/live_model.h"
#include "train/snapshot.h"

namespace troika {

/// Requests of one rank to all of them. They are summed over the ranks together with the loss
/// (docs/design.md, Laws), so that all ranks obey after the same step.
struct Requests {
  bool stop = false;  ///< Any rank may ask for it.
  /// Due by the clock; only the first rank asks, because clocks differ.
  bool log = false, save = false, evaluate = false;

  bool operator==(const Requests&) const = default;
};

struct StepResult {
  double loss = 0;
  std::map<std::string, double> more{};  ///< Losses of further graphs, by name.
  std::int64_t samples = 0;
  StepLedger ledger{};                  ///< Sum over the devices of this process.
  std::chrono::nanoseconds messages{};  ///< Moving and waiting, on the device with most of it.
  Requests agreed{};                    ///< Requests of all ranks; empty without peers.
};

/// Input of a step.
struct StepStart {
  const RunState& state;
  std::int64_t batch;
  double learning_rate;
  Requests requests;  ///< Requests of this rank.
};

/// Borrows its setting. Used by one thread.
class StepRunner {
 public:
  struct Setting {
    LiveModel& live;
    const data::Dataset& samples;
    const std::map<std::int64_t, zoo::Model>& models;  ///< By batch size.
    DType dtype;
  };
  explicit StepRunner(const Setting& setting) : setting_(setting) {}

  /// Runs all graphs of the model once. Collective. Throws SharedError(numeric) on all ranks,
  /// naming the operator, if a loss is not finite.
  StepResult run(const StepStart& start);

  /// Batch size of the last step; 0 before the first.
  std::int64_t batch() const { return batch_; }
  /// Total time spent waiting for samples.
  double waited_seconds() const;

 private:
  void open_loader(const StepStart& start);
  void write_scalars(const StepStart& start);
  void write_inputs(const zoo::NamedGraph& graph, const data::Batch& batch, const RunState& state);
  void run_graphs(const StepStart& start, const data::Batch& batch, StepResult& result);
  [[noreturn]] void explain_non_finite(const zoo::NamedGraph& graph, const data::Batch& batch,
                                       const StepStart& start);
  Ranks& ranks() const { return *setting_.live.setup().ranks; }
  bool has_peers() const { return ranks().count() > 1; }

  const Setting setting_;
  std::unique_ptr<data::Loader> loader_;
  std::int64_t batch_ = 0;
  double waited_before_ = 0;     // in loaders that were replaced
  std::vector<std::byte> feed_;  // buffer for inputs that no data set holds
};

}  // namespace troika
