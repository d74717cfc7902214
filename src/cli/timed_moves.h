// How long it takes to follow small changes of a plan: by changing and simulating again only what
// they reach, and from scratch.
#pragma once

#include <cstdint>
#include <vector>

#include "setup/predicted_plan.h"

namespace troika::cli {

/// Milliseconds of processor time, one entry for each move.
struct MoveTimes {
  std::vector<double> change;   ///< Changing the plan.
  std::vector<double> delta;    ///< Simulating the changed plan with DeltaSimulation.
  std::vector<double> undo;     ///< Taking back the move, both of the above.
  std::vector<double> full;     ///< Simulating the whole changed plan.
  std::vector<double> scratch;  ///< Planning the changed plan anew.
  bool agrees = true;           ///< Delta and full simulation gave the same times, also after undo.
};

struct TimedMoves {
  const LowerRequest& request;  ///< Feasible; the first plan.
  const KernelAnswer& answer;
  KernelTable& table;  ///< Gets the rows that are asked for.
  double seconds = 1;  ///< Approximate duration, and no more moves than most_moves.
  std::uint64_t most_moves = 500;
};
/// Random moves, the same in each run: one operator, or a run of a few, gets the splits of another
/// ready plan. Only moves that keep the classes of devices count; every second one is taken back.
MoveTimes time_moves(const TimedMoves& asked);

/// Processor time of this thread.
double processor_ms();

}  // namespace troika::cli
