// Writing a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace troika {

struct SnapshotTensor {
  std::string name;  ///< Unique in the whole checkpoint.
  TensorSpec spec;
  std::string file =
      "model.safetensors";  ///< Weights go there, so that other programs can load that file alone.
};

/// All that a run needs to go on: global tensors (never a device's slice) and an object of what is
/// not a tensor (optimizer, random state, data cursor, kernel choices, model hash).
struct Snapshot {
  std::int64_t step = 0;
  std::string meta_json = "{}";
  std::vector<SnapshotTensor> tensors;
  TensorSource read;  ///< Its index is into `tensors`.
};

/// Writes CHECKPOINTS/step-N and points `latest` to it. Until it is complete and synced it has a
/// temporary name, so a kill at any moment leaves the checkpoints before it as they were; a step-N
/// that exists is replaced. What a killed save left behind is removed first. One save at a time per
/// folder. Throws Error(file) when the disk is full or refuses, Error(usage) when the snapshot
/// cannot be stored; then nothing has changed.
void save_checkpoint(const std::filesystem::path& checkpoints, const Snapshot& snapshot);

}  // namespace troika
