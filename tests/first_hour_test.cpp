// What somebody meets who has just installed Troika: the commands of --help, mistakes in a run
// file, habits from other frameworks.
#include <gmock/gmock.h>

#include <iterator>

#include "command_line.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The arguments of each command below "Start with:".
std::vector<std::vector<std::string>> first_commands(const std::string& help) {
  std::vector<std::vector<std::string>> commands;
  std::istringstream lines(help.substr(help.find("Start with:")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  troika ")) continue;
    std::vector<std::string> words = words_of(line);
    commands.emplace_back(words.begin() + 1, words.end());
  }
  return commands;
}

using FirstHour = CommandLine;

TEST_F(FirstHour, TheCommandsOfTheHelpWorkInTheirOrderInAnEmptyFolder) {
  fs::create_directory(path("empty"));
  auto commands = first_commands(run({"--help"}).out);
  ASSERT_EQ(commands.size(), 3u);
  std::string last;
  for (const std::vector<std::string>& command : commands) {
    Result result = run(command, {.folder = "empty"});
    ASSERT_EQ(result.code, 0) << command.front() << ": " << result.err;
    last = result.out;
  }
  EXPECT_THAT(last, AllOf(HasSubstr("runs/digits exists, so this run is runs/digits-2"),
                          HasSubstr("run folder: runs/digits-2")));
}

}  // namespace
}  // namespace troika
