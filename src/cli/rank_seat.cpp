#include "cli/rank_seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "base/units.h"
#include "cli/failure.h"
#include "setup/mpi_ranks.h"

namespace troika::cli {

bool runs_under_mpirun() {
  return std::ranges::any_of(kMpiLauncherVariables,
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

HeartbeatTimes parse_timeout(const std::string& timeout) {
  if (timeout.empty()) return {};
  return heartbeat_times(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(parse_seconds(timeout))));
}

RankWatch watch_without_folder(int rank, const std::string& timeout) {
  return {.heartbeat = {.times = parse_timeout(timeout)},
          .log = std::filesystem::path("logs") / fmt::format("rank-{}", rank),
          .opens_log_early = false};
}

void refuse_mpirun(const char* verb) {
  if (runs_under_mpirun())
    throw Error(ErrorKind::usage,
                fmt::format("'troika {}' runs in one process, so each rank would repeat all of it; "
                            "start it without mpirun",
                            verb));
  refuse_lone_tasks(read_slurm_step(), 1);
}

SlurmStep read_slurm_step() {
  auto number = [](const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
  };
  return {.tasks = number("SLURM_STEP_NUM_TASKS", 1), .task = number("SLURM_PROCID", 0)};
}

void refuse_lone_tasks(const SlurmStep& step, int ranks) {
  if (ranks > 1 || (step.tasks <= 1 && step.task == 0)) return;
  std::string tasks = step.tasks > 1 ? fmt::format("{} tasks", step.tasks) : "several tasks";
  throw Error(ErrorKind::usage,
              fmt::format("srun has started {}, but MPI sees one rank in each, so each would train "
                          "the whole run; start them with srun --mpi=pmix (srun --mpi=list shows "
                          "what is available), or start one process with srun --ntasks=1",
                          tasks));
}

std::unique_ptr<MpiWorld> start_world() {
  std::unique_ptr<MpiWorld> world = start_mpi();
  // mpirun -n 1 inside a step of srun is one rank on purpose.
  bool is_mpirun = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  if (!is_mpirun) refuse_lone_tasks(read_slurm_step(), world->ranks());
  return world;
}

void run_in_seat(Context& context, const HeartbeatOptions& heartbeat,
                 const std::function<void(const RankSeat&)>& body) {
  if (!runs_under_mpirun()) {
    refuse_lone_tasks(read_slurm_step(), 1);
    return body({});
  }
  std::unique_ptr<MpiWorld> world = start_world();
  context.console.be_plain();
  if (world->rank() != 0) context.console.be_silent();
  std::exception_ptr shared;
  // Reports an error that all ranks have while none can have left yet: mpirun ends the whole job,
  // and drops what the others still print, as soon as one rank has left with a code.
  auto report_shared = [&](const Error& error) {
    shared = std::current_exception();
    report_failure(error, context.console);
    context.console.be_silent();
  };
  try {
    run_watched_rank(*world, {.heartbeat = heartbeat}, [&](Heartbeat& watch, LastWords& last) {
      std::unique_ptr<Ranks> ranks = make_mpi_ranks(*world, watch);
      try {
        body({ranks.get(), [&last](const std::filesystem::path& path) { last.open(path); },
              [&last] { return last.is_leaving(); }});
      } catch (const SharedError& error) {
        report_shared(error);
      }
    });
  } catch (const Error& error) {
    // The heartbeat did not start: every rank has this error, since the ranks start it together.
    report_shared(error);
  }
  // MPI is finalized before the error leaves: mpirun takes an exit without it for a crash.
  world.reset();
  if (shared) std::rethrow_exception(shared);
}

}  // namespace troika::cli
