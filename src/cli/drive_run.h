// One run from its configuration to its end, as `train` and `demo` do it: table, run folder, steps,
// last words.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/rank_seat.h"
#include "cli/verb.h"
#include "config/run_config.h"
#include "train/run_folder.h"
#include "train/training_run.h"

namespace troika::cli {

struct RunRequest {
  RunConfig config;
  std::string fallback_name;  ///< Of the run folder, when the configuration has none.
  std::optional<std::filesystem::path> resume;  ///< The run folder to go on with.
  Pick pick = Pick::newest;                     ///< Which of its checkpoints.
  std::optional<std::filesystem::path> from;    ///< Weights to start from.
  bool dry_run = false;                         ///< The table and nothing else.
  IfTaken if_taken = IfTaken::next_name;        ///< Of a new run.
};

struct RunResult {
  TrainOutcome outcome;
  std::filesystem::path folder;
};

/// Nothing after a dry run. A stop by signal or stop file is saved, explained and not a failure;
/// the verb then ends with kInterruptedExitCode. What
/// a failure has to say stands in logs/rank-N of the run folder too. All ranks call it together.
std::optional<RunResult> drive_run(const RunRequest& request, Context& context,
                                   const RankSeat& seat = {});

}  // namespace troika::cli
