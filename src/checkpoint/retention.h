// Which checkpoints of a run to load, and which to keep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace troika {

struct FoundCheckpoint {
  std::filesystem::path folder;
  std::string warning;  ///< What a person should know about this choice; empty when all is well.
};

/// The checkpoint to go on from: the one `latest` names; if that file or that checkpoint is bad,
/// the newest that is whole. Nothing when there is none at all; Error(file) when there are some and
/// none can be loaded. Reads the chosen one in full.
[[nodiscard]] std::optional<FoundCheckpoint> find_newest_checkpoint(
    const std::filesystem::path& checkpoints);

/// The one that `mark_best_checkpoint` named. Nothing when none was; Error(file) when `best` or the
/// checkpoint is bad.
[[nodiscard]] std::optional<std::filesystem::path> find_best_checkpoint(
    const std::filesystem::path& checkpoints);
/// The checkpoint must be there.
void mark_best_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step);
/// Makes the best checkpoint, which must be there, the latest: a run that continues from it has
/// left the later ones behind, even if it is killed before its first save.
void rewind_to_best_checkpoint(const std::filesystem::path& checkpoints);

/// Keeps the `keep` newest checkpoints and the best one, removes the others, and returns a warning
/// or nothing. Checkpoints later than `latest` are of a run that was rewound; they stay until the
/// run gets there again.
[[nodiscard]] std::string retain_checkpoints(const std::filesystem::path& checkpoints,
                                             std::size_t keep);

}  // namespace troika
