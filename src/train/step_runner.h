// One step of a training run: samples to the devices, the programs, and what stopped them.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "setup/live_model.h"
#include "train/requests.h"
#include "train/snapshot.h"

namespace troika {

struct StepResult {
  double loss = 0;                       ///< In the user's units, as all losses.
  std::map<std::string, double> more{};  ///< Losses of further graphs, by name.
  std::int64_t samples = 0;
  StepLedger ledger{};                  ///< Of all devices here together.
  std::chrono::nanoseconds messages{};  ///< Moving and waiting, on the device with most of it.
  Requests agreed{};                    ///< What all ranks asked for; nothing without peers.
};

/// What a step starts from.
struct StepStart {
  const RunState& state;
  std::int64_t batch;
  double learning_rate;
  Requests requests;  ///< Of this rank.
};

/// Borrows all that it is made with. Used by one thread.
class StepRunner {
 public:
  struct Setting {
    LiveModel& live;
    const data::Dataset& samples;
    const std::map<std::int64_t, zoo::Model>& models;  ///< By batch.
    DType dtype;
  };
  explicit StepRunner(const Setting& setting) : s_(setting) {}

  /// All graphs of the model once. Throws Error(numeric) naming the operator if a loss is not
  /// finite, on all ranks alike.
  StepResult run(const StepStart& start);

  /// Of the last step; 0 before the first.
  std::int64_t batch() const { return batch_; }
  /// Spent waiting for samples, in all.
  double waited_seconds() const;

 private:
  void open_loader(const StepStart& start);
  void write_scalars(const StepStart& start);
  void write_inputs(const zoo::NamedGraph& graph, const data::Batch& batch, const RunState& state);
  void run_graphs(const StepStart& start, const data::Batch& batch, StepResult& result);
  [[noreturn]] void explain_non_finite(const zoo::NamedGraph& graph, const data::Batch& batch,
                                       const StepStart& start);
  Ranks& ranks() const { return *s_.live.setup().ranks; }
  bool has_peers() const { return ranks().count() > 1; }

  const Setting s_;
  std::unique_ptr<data::Loader> loader_;
  std::int64_t batch_ = 0;
  double waited_before_ = 0;     // by loaders that are gone
  std::vector<std::byte> feed_;  // one input that no data set holds
};

}  // namespace troika
