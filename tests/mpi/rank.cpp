// The program that mpirun starts in the tests: rank SCENE THREADING [WORD...]
#include "rank.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "base/error.h"

int main(int argc, char** argv) {
  using namespace troika;
  const std::map<std::string, void (*)(MpiWorld&, const Words&)> scenes = {
      {"messages", exchange_messages}, {"timing", time_messages}};
  try {
    Words words(argv + 1, argv + argc);
    auto scene = scenes.find(words.at(0));
    if (scene == scenes.end()) throw Error(ErrorKind::usage, "no scene '" + words[0] + "'");
    auto world = start_mpi(parse_mpi_threading(words.at(1)));
    scene->second(*world, Words(words.begin() + 2, words.end()));
    if (world->rank() == 0) fmt::print("ok: {}\n", world->library());
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& bug) {
    fmt::print(stderr, "bug: {}\n", bug.what());
    return kBugExitCode;
  }
}
