#include "cli/rank_seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "base/units.h"
#include "cli/failure.h"
#include "train/mpi_ranks.h"

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
  return {.times = parse_timeout(timeout),
          .log = std::filesystem::path("logs") / fmt::format("rank-{}", rank),
          .opens_log_early = false};
}

void refuse_mpirun(const char* verb) {
  if (runs_under_mpirun())
    throw Error(ErrorKind::usage,
                fmt::format("troika {} works in one process, so each rank would do all of it; "
                            "start it without mpirun",
                            verb));
}

void run_in_seat(Context& context, HeartbeatTimes times,
                 const std::function<void(const RankSeat&)>& body) {
  if (!runs_under_mpirun()) return body({});
  std::unique_ptr<MpiWorld> world = start_mpi();
  context.console.be_plain();
  if (world->rank() != 0) context.console.be_silent();
  std::exception_ptr shared;
  run_watched_rank(*world, {.times = times}, [&](Heartbeat& heartbeat, LastWords& last) {
    std::unique_ptr<Ranks> ranks = make_mpi_ranks(*world, heartbeat);
    try {
      body({ranks.get(), [&last](const std::filesystem::path& path) { last.open(path); }});
    } catch (const SharedError& error) {
      shared = std::current_exception();
      // Before the others may leave: mpirun ends the whole job as soon as one has left with a code.
      report_failure(error, context.console);
      context.console.be_silent();
    }
  });
  world.reset();
  if (shared) std::rethrow_exception(shared);
}

}  // namespace troika::cli
