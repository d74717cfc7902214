// A live model's state to and from checkpoints.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "data/encoding.h"
#include "setup/live_model.h"

namespace troika {

/// What a checkpoint holds beside tensors. Sample order, dropout and augmentation are functions of
/// (seed, step, position), so these few numbers are the whole random state and data cursor.
struct RunState {
  std::int64_t step = 0;      ///< Steps done.
  std::int64_t position = 0;  ///< Samples consumed.
  std::uint64_t seed = 1;
  std::string model_hash;
  std::string plan_hash;     ///< Of the strategy, and
  std::string choices_hash;  ///< of kernels; a resumed run with others is not bit for bit the same.
  std::string device;
  double seconds = 0;       ///< Spent so far, over all processes one after the other.
  std::string held_out;     ///< Which samples are not trained on; empty: none of the training set.
  std::string best_metric;  ///< That picks the best checkpoint; empty: none.
  std::optional<double> best_value{};       ///< Of that metric.
  std::int64_t evaluations_since_best = 0;  ///< For early stopping.
  std::string run;  ///< The run file, so that the checkpoint can be used without its run folder.
  std::optional<data::Encoding> samples{};  ///< Of the training set; both absent in old ones.

  bool operator==(const RunState&) const = default;
};

void save_state(const std::filesystem::path& checkpoints, LiveModel& live, const RunState& state);

/// Everything or an error: a tensor that is missing or of another shape throws Error(file) naming
/// it.
RunState load_state(const Checkpoint& checkpoint, LiveModel& live);
RunState read_state(const Checkpoint& checkpoint);

/// Everything of a model that has the same state.
void copy_state(LiveModel& from, LiveModel& to);

/// Starts from other weights: parameters whose names and shapes match are loaded, the rest of the
/// model's is returned. `source` is a checkpoint, a run folder or a .safetensors file.
std::vector<std::string> load_weights(const std::filesystem::path& source, LiveModel& live);

/// Which checkpoint of a run: the newest, or the best by the metric that checkpoint.best names.
enum class Pick { newest, best };

/// The checkpoint that a path names: itself, or the one to pick of a run folder or of its
/// checkpoints. Throws Error(file) when there is none, or none was marked as the best.
std::filesystem::path find_checkpoint(const std::filesystem::path& path, Pick pick = Pick::newest);

}  // namespace troika
