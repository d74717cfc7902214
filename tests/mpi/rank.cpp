// The program that mpirun starts in the tests: mpi_rank FOLDER THREADING SCENE [WORD...]
#include "rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/error.h"
#include "comm/heartbeat/watched_rank.h"

namespace {

using namespace troika;

const std::map<std::string, void (*)(Stage&, const Words&)> kScenes = {
    {"messages", exchange_messages},       {"timing", time_messages},
    {"collectives", compare_with_threads}, {"calls", make_calls},
    {"agreement", disagree_at_start},      {"late", sleep_late},
    {"abandoned", abandon_receives},       {"alone", fail_alone},
};

const std::map<std::string, MpiThreading> kThreadings = {
    {"multiple", MpiThreading::multiple},
    {"serialized", MpiThreading::serialized},
};

void play(const Words& words) {
  std::filesystem::path folder = words.at(0);
  auto world = start_mpi(kThreadings.at(words.at(1)));
  RankWatch watch{.log = folder / fmt::format("rank-{}", world->rank())};
  run_watched_rank(*world, watch, [&](Heartbeat& heartbeat) {
    Stage stage{*world, heartbeat, folder};
    kScenes.at(words.at(2))(stage, Words(words.begin() + 3, words.end()));
  });
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
