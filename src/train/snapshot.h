// Saves the state of a live model to checkpoints and loads it from them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "data/encoding.h"
#include "setup/live_model.h"

namespace troika {

/// The content of a checkpoint besides tensors. Sample order, dropout and augmentation are
/// functions of (seed, step, position), so these numbers are the whole random state and data
/// cursor.
struct RunState {
  std::int64_t step = 0;      ///< Steps done.
  std::int64_t position = 0;  ///< Samples consumed.
  std::uint64_t seed = 1;
  std::string model_hash;
  std::string plan_hash;     ///< Hash of the strategy.
  std::string choices_hash;  ///< Hash of the kernels; with others, last bits of results differ.
  std::string device;
  double seconds = 0;       ///< Training time so far, over all processes that continued the run.
  std::string held_out;     ///< Samples of the training set kept for validation; empty: none.
  std::string best_metric;  ///< Metric that picks the best checkpoint; empty: none.
  std::optional<double> best_value{};       ///< Best value of that metric so far.
  std::int64_t evaluations_since_best = 0;  ///< For early stopping.
  std::string run;  ///< The run file, so that the checkpoint can be used without its run folder.
  std::optional<data::Encoding> samples{};  ///< Of the training set. Old checkpoints lack both.
  /// Dataset::window of the training set. Old checkpoints lack it.
  std::optional<std::int64_t> window{};

  bool operator==(const RunState&) const = default;
};

/// Writes CHECKPOINTS/step-N. Collective: each rank writes its share of the state.
void save_state(const std::filesystem::path& checkpoints, LiveModel& live, const RunState& state);

/// Loads the whole state. Throws Error(file) naming a tensor that is missing or has another shape.
RunState load_state(const Checkpoint& checkpoint, LiveModel& live);
/// Reads only what is not a tensor.
RunState read_state(const Checkpoint& checkpoint);

/// Copies the whole state between two models with equal tensors, whatever their strategies.
void copy_state(LiveModel& from, LiveModel& to);

/// Selects a checkpoint of a run: the newest, or the best by the metric that checkpoint.best names.
enum class Pick { newest, best };

/// Returns the path itself if it is a checkpoint, else the selected checkpoint of the run folder or
/// checkpoints folder that it names. Throws Error(file) if there is none, or none marked as the
/// best.
std::filesystem::path find_checkpoint(const std::filesystem::path& path, Pick pick = Pick::newest);
/// The same for weights to start from, which may also be a .safetensors file.
std::filesystem::path find_weights(const std::filesystem::path& path, Pick pick = Pick::newest);

/// Returns the sample encoding that a checkpoint was trained with, empty if it is too old to have
/// one. Nothing for a .safetensors file, which has weights only. `weights` as find_weights
/// returns it.
std::optional<data::Encoding> encoding_of_weights(const std::filesystem::path& weights);

/// Loads the parameters whose names and shapes match, and returns the names of the others. `source`
/// is a path for find_weights, `samples` the encoding of the training set. Throws Error(usage) if a
/// checkpoint predicts the same numbers, but normalised in another way. The weights of a
/// .safetensors file are assumed to fit the samples.
std::vector<std::string> load_weights(const std::filesystem::path& source, LiveModel& live,
                                      const data::Encoding& samples);

}  // namespace troika
