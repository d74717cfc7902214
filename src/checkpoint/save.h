// Writing a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "tensor/region.h"

namespace troika {

struct SnapshotTensor {
  std::string name;  ///< Unique in the whole checkpoint.
  TensorSpec spec;
  std::string file =
      "model.safetensors";  ///< Weights go there, so that other programs can load that file alone.
};

/// A box of a tensor, written at once.
struct SnapshotPart {
  std::size_t tensor = 0;
  Region region;
};

/// All that a run needs to go on: global tensors (never a device's slice) and an object of what is
/// not a tensor (optimizer, random state, data cursor, kernel choices, model hash).
struct Snapshot {
  std::int64_t step = 0;
  std::string meta_json = "{}";
  std::vector<SnapshotTensor> tensors;
  TensorSource read;  ///< Its index is into `parts`, or, where each tensor is one, into `tensors`.
  /// What this process writes, in any order; unset: every tensor, whole. The parts of all processes
  /// have every element once.
  std::optional<std::vector<SnapshotPart>> parts{};
};

/// The processes that write a checkpoint together, on a file system that they share. All call
/// save_checkpoint at once, with the same snapshot but for its parts.
struct Writers {
  int rank = 0;
  int count = 1;
  /// Every process gives a text and gets all of them, by rank.
  std::function<std::vector<std::string>(const std::string&)> exchange{};
};

/// Writes CHECKPOINTS/step-N and points `latest` to it. Until it is complete and synced it has a
/// temporary name, so a kill at any moment leaves the checkpoints before it as they were; a step-N
/// that exists is replaced. What a killed save left behind is removed first. One save at a time per
/// folder. Values go to their places part by part; no process has a whole tensor unless it is one
/// part. Throws Error(file) when the disk is full or refuses, Error(usage) when the snapshot
/// cannot be stored; then nothing has changed.
void save_checkpoint(const std::filesystem::path& checkpoints, const Snapshot& snapshot,
                     const Writers& writers = {});

}  // namespace troika
