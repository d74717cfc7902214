// A verb's place among the ranks of an MPI job, where a launcher has started one.
#pragma once

#include <filesystem>
#include <functional>

#include "cli/verb.h"
#include "comm/heartbeat/watched_rank.h"
#include "setup/ranks.h"

namespace troika::cli {

struct RankSeat {
  Ranks* ranks = nullptr;  ///< Borrowed; null where no launcher was at work.
  /// From now on the last words of this rank go to this file, too.
  std::function<void(const std::filesystem::path&)> keep_last_words{};

  int rank() const { return ranks != nullptr ? ranks->rank() : 0; }
  int count() const { return ranks != nullptr ? ranks->count() : 1; }
  bool is_first() const { return rank() == 0; }
};

bool runs_under_mpirun();
/// For verbs of one process. Throws Error(usage).
void refuse_mpirun(const char* verb);

/// A step of srun, as each of its tasks is told.
struct SlurmStep {
  int tasks =
      1;  ///< SLURM_STEP_NUM_TASKS. (SLURM_NTASKS is there in a batch script of one process.)
  int task = 0;  ///< SLURM_PROCID
};
SlurmStep read_slurm_step();
/// Where MPI has joined fewer ranks than the step has tasks: one. Each task would then do the whole
/// run. Throws Error(usage).
void refuse_lone_tasks(const SlurmStep& step, int ranks);

/// What --timeout says; empty: the usual times. Throws Error(usage) where it is no time.
HeartbeatTimes parse_timeout(const std::string& timeout);

/// The watch of a verb that has no run folder: logs/rank-N in the working directory, made only when
/// there is something to say.
RankWatch watch_without_folder(int rank, const std::string& timeout);

/// As start_mpi, but refuses tasks of srun that MPI does not join.
std::unique_ptr<MpiWorld> start_world();

/// Calls `body` once. Under mpirun MPI is started around it and the ranks watch each other: a lost
/// one ends this process with code 5 and a sentence. Ranks but the first are silent. What all ranks
/// have met alike (SharedError) is thrown on, after MPI has ended. Throws Error(usage) in a step of
/// srun whose tasks MPI does not join.
void run_in_seat(Context& context, const HeartbeatOptions& heartbeat,
                 const std::function<void(const RankSeat&)>& body);

/// What may fail before the first step: where it does on one rank, all give up in order.
template <class F>
auto or_give_up(const RankSeat& seat, F&& set_up) {
  try {
    return set_up();
  } catch (const SharedError&) {
    throw;
  } catch (const Error& error) {
    if (seat.ranks != nullptr) seat.ranks->give_up(error);
    throw;
  }
}

}  // namespace troika::cli
