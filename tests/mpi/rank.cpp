// The program that mpirun starts in the tests: mpi_rank FOLDER THREADING SCENE [WORD...]
#include "rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/error.h"
#include "comm/heartbeat/end_signals.h"
#include "comm/heartbeat/last_words.h"
#include "comm/heartbeat/start_heartbeat.h"

namespace {

using namespace troika;

const std::map<std::string, void (*)(Stage&, const Words&)> kScenes = {
    {"messages", exchange_messages},       {"timing", time_messages},
    {"collectives", compare_with_threads}, {"calls", make_calls},
    {"agreement", disagree_at_start},
};

void play(const Words& words) {
  std::filesystem::path folder = words.at(0);
  auto world = start_mpi(parse_mpi_threading(words.at(1)));
  LastWords last(folder / fmt::format("rank-{}", world->rank()));
  auto heartbeat = start_heartbeat(
      *world, {}, [&](const Error& error) { last.leave(error.what(), error.exit_code()); });
  auto signals = std::make_unique<EndSignals>(*heartbeat);
  Stage stage{*world, *heartbeat, folder};
  try {
    kScenes.at(words.at(2))(stage, Words(words.begin() + 3, words.end()));
    heartbeat->leave();
  } catch (const std::exception& failure) {
    Error cause = heartbeat->fail(failure.what());
    last.leave(cause.what(), cause.exit_code());
  }
  signals.reset();
  heartbeat.reset();
  if (world->rank() == 0) fmt::print("ok: {}\n", world->library());
}

}  // namespace

int main(int argc, char** argv) {
  alarm(120);  // whatever goes wrong, no process stays behind
  try {
    play(Words(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "error: {}\n", failure.what());
    _exit(kBugExitCode);
  }
}
