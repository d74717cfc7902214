// Chooses which checkpoint of a run to load and which to keep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace troika {

struct FoundCheckpoint {
  std::filesystem::path folder;
  std::string warning;  ///< For the user, if the choice is not the expected one; otherwise empty.
};

/// Returns the checkpoint to resume from: the one that `latest` names or, if that is damaged, the
/// newest intact one. Returns nothing if there is no checkpoint. Throws Error(file) if none can be
/// loaded. Reads the chosen one in full.
[[nodiscard]] std::optional<FoundCheckpoint> find_newest_checkpoint(
    const std::filesystem::path& checkpoints);

/// Returns the checkpoint that `mark_best_checkpoint` named, or nothing. Throws Error(file) if
/// `best` or the checkpoint is damaged.
[[nodiscard]] std::optional<std::filesystem::path> find_best_checkpoint(
    const std::filesystem::path& checkpoints);
/// The checkpoint must exist.
void mark_best_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step);
/// Makes the best checkpoint, which must exist, the latest one. A run that continues from it then
/// resumes there even if it is killed before its first save.
void rewind_to_best_checkpoint(const std::filesystem::path& checkpoints);

/// Removes all checkpoints except the `keep` newest and the best one; returns a warning or an empty
/// text. Checkpoints later than `latest`, left from before a rewind, stay until the run reaches
/// their step again.
[[nodiscard]] std::string retain_checkpoints(const std::filesystem::path& checkpoints,
                                             std::size_t keep);

}  // namespace troika
