// Saves the checkpoints of a run, marks the best one and deletes old ones.
#pragma once

#include <cstdint>

#include "setup/live_model.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/snapshot.h"

namespace troika {

/// Borrows its setting. All calls are collective.
class CheckpointKeeper {
 public:
  struct Setting {
    const RunFolder& folder;
    LiveModel& live;
    Progress& progress;
    std::int64_t keep;  ///< How many of the newest checkpoints to keep.
  };
  /// `saved` is the step of an existing checkpoint, or -1.
  CheckpointKeeper(const Setting& setting, std::int64_t saved) : setting_(setting), saved_(saved) {}

  enum class Mark { none, best };
  /// Saves unless this step was saved before, and then marks the checkpoint. Throws Error(file).
  void save(const RunState& state, Mark mark = Mark::none);

 private:
  void tidy(std::int64_t step);
  Ranks& ranks() const { return *setting_.live.setup().ranks; }

  const Setting setting_;
  std::int64_t saved_;
};

}  // namespace troika
