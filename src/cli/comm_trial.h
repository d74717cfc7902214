// Times collectives between devices that are threads of this process, or ranks of MPI: every size
// and algorithm in turns, so that other load meets them alike.
#pragma once

#include <string>
#include <vector>

#include "collective/recipe.h"
#include "comm/transport.h"

namespace troika::cli {

/// One collective to be timed, over f32.
struct CommCase {
  Bytes bytes{};
  std::string algorithm;
  Recipe recipe;
};

struct CommTimes {
  std::vector<double> repeats;  ///< Microseconds per operation, one per repeat.
};

struct CommTrial {
  std::vector<CommCase> cases;
  int repeats = 21;
};

struct CommTrialResult {
  std::vector<CommTimes> cases;  ///< As the cases of the trial.
  /// For each case that is an all-reduce: the same bytes combined and written by a plain loop on
  /// each thread, without any message. Empty for other operations and over MPI.
  std::vector<CommTimes> rooflines;
};

/// Each device is a thread, bound to a core of its own as far as there are cores.
CommTrialResult time_on_threads(const CommTrial& trial);

/// This process is device `rank` of the transport's; all ranks call it together and get the same:
/// the slowest rank counts.
CommTrialResult time_over(Transport& transport, int rank, const CommTrial& trial);

}  // namespace troika::cli
