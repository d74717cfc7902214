// One run from its configuration to its end, for `train` and `demo`: table, run folder, steps,
// summary.
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
  std::string fallback_name;  ///< Name of the run folder if the configuration has none.
  std::optional<std::filesystem::path> resume;  ///< The run folder to continue.
  std::optional<std::filesystem::path> from;    ///< Weights to start from, as load_weights.
  Pick pick = Pick::newest;                     ///< Which checkpoint of either.
  bool dry_run = false;                         ///< Print the table and stop.
  IfTaken if_taken = IfTaken::next_name;        ///< If the folder of a new run exists.
};

struct RunResult {
  TrainOutcome outcome;
  std::filesystem::path folder;
};

/// Returns nothing after a dry run. A stop by signal or stop file is not a failure: the run is
/// saved, and the verb ends with kInterruptedExitCode. Failures are also written to logs/rank-N of
/// the run folder. All ranks call it together.
std::optional<RunResult> drive_run(const RunRequest& request, Context& context,
                                   const RankSeat& seat = {});

}  // namespace troika::cli
