// A verb as one rank of an MPI job, or alone.
#pragma once

#include <filesystem>
#include <functional>

#include "cli/verb.h"
#include "comm/heartbeat/watched_rank.h"
#include "setup/ranks.h"

namespace troika::cli {

struct RankSeat {
  Ranks* ranks = &sole_rank();  ///< Borrowed, not null.
  /// From now on the last error of this rank is written to this file as well. Empty if no launcher
  /// started the process: then the verb logs its own errors.
  std::function<void(const std::filesystem::path&)> keep_last_words{};
  /// Whether that error has been written and the process is about to end; with keep_last_words
  /// only.
  std::function<bool()> is_leaving{};

  bool is_launched() const { return static_cast<bool>(keep_last_words); }
  bool is_first() const { return ranks->is_first(); }
};

bool runs_under_mpirun();
/// Throws Error(usage) under mpirun, for verbs that run in one process.
void refuse_mpirun(const char* verb);

/// A step of srun, from the environment of one of its tasks.
struct SlurmStep {
  int tasks =
      1;  ///< SLURM_STEP_NUM_TASKS. (SLURM_NTASKS is also set in a batch script of one process.)
  int task = 0;  ///< SLURM_PROCID
};
SlurmStep read_slurm_step();
/// Throws Error(usage) if MPI sees one rank although the step has several tasks, since each task
/// would then do the whole run.
void refuse_lone_tasks(const SlurmStep& step, int ranks);

/// The value of --timeout; empty means the default times. Throws Error(usage) if it is not a time.
HeartbeatTimes parse_timeout(const std::string& timeout);

/// For a verb without a run folder: errors go to logs/rank-N in the working directory, created only
/// when there is one.
RankWatch watch_without_folder(int rank, const std::string& timeout);

/// As start_mpi, but throws for tasks of srun that MPI does not join.
std::unique_ptr<MpiWorld> start_world();

/// Calls `body` once. Under mpirun MPI is started around it and the ranks watch each other: a lost
/// one ends this process with code 5 and a message. Ranks other than the first are silent. An error
/// that all ranks share (SharedError) is rethrown after MPI has ended. Throws Error(usage) in a
/// step of srun whose tasks MPI does not join.
void run_in_seat(Context& context, const HeartbeatOptions& heartbeat,
                 const std::function<void(const RankSeat&)>& body);

/// For work before the first step: if it fails on one rank, all ranks end in an orderly way.
template <class F>
auto or_give_up(const RankSeat& seat, F&& set_up) {
  try {
    return set_up();
  } catch (const SharedError&) {
    throw;
  } catch (const Error& error) {
    seat.ranks->give_up(error);
  }
}

}  // namespace troika::cli
