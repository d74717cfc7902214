// The checkpoints of a run: those that are due, and the best one.
#pragma once

#include <cstdint>

#include "setup/live_model.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/snapshot.h"

namespace troika {

/// Borrows all that it is made with. With ranks all of them make the same calls.
class CheckpointKeeper {
 public:
  struct Setting {
    const RunFolder& folder;
    LiveModel& live;
    Progress& progress;
    std::int64_t keep;  ///< How many of the newest.
  };
  /// `saved` is the step of a checkpoint that is there already, or -1.
  CheckpointKeeper(const Setting& setting, std::int64_t saved) : s_(setting), saved_(saved) {}

  enum class Mark { none, best };
  /// Saves unless this step was saved before, and marks the checkpoint if asked to. Throws
  /// Error(file).
  void save(const RunState& state, Mark mark = Mark::none);

 private:
  void tidy(std::int64_t step);
  Ranks& ranks() const { return *s_.live.setup().ranks; }

  const Setting s_;
  std::int64_t saved_;
};

}  // namespace troika
