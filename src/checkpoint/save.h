// Writes a checkpoint.
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
  /// Weights are in this file, so that other programs can load it alone.
  std::string file = "model.safetensors";
  /// Number of leading dimensions that the file stores as one; regions of parts have them apart.
  std::size_t merged = 1;
};

/// A region of a tensor that is written at once.
struct SnapshotPart {
  std::size_t tensor = 0;
  Region region;
};

/// Everything a run needs to resume: global tensors, never slices of a device, and a JSON object
/// with the rest (optimizer, random state, data cursor, kernel choices, model hash).
struct Snapshot {
  std::int64_t step = 0;
  std::string meta_json = "{}";
  std::vector<SnapshotTensor> tensors;
  TensorSource read;  ///< Its index refers to `parts`, or to `tensors` if `parts` is unset.
  /// The parts that this process writes, in any order; unset: all tensors. The parts of all
  /// processes must cover every element exactly once.
  std::optional<std::vector<SnapshotPart>> parts{};
};

/// The processes that write a checkpoint together, on a shared file system. All must call
/// save_checkpoint, with snapshots that differ in `parts` only.
struct Writers {
  int rank = 0;
  int count = 1;
  /// An all-gather: every process passes a text and gets the texts of all, by rank.
  std::function<std::vector<std::string>(const std::string&)> exchange{};
};

/// Writes CHECKPOINTS/step-N and makes `latest` name it. The folder has a temporary name until it
/// is complete and synced, so that a kill at any time leaves earlier checkpoints intact. An
/// existing step-N is replaced, and leftovers of killed saves are removed first. One save at a time
/// per folder. Memory: the largest part, not the largest tensor. Throws Error(file) if the disk is
/// full or refuses, Error(usage) if the snapshot cannot be stored; earlier checkpoints stay as they
/// are.
void save_checkpoint(const std::filesystem::path& checkpoints, const Snapshot& snapshot,
                     const Writers& writers = {});

}  // namespace troika
