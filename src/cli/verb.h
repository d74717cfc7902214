// What every verb of the command line is made of. CLI11 stays behind the sources.
#pragma once

#include <functional>
#include <string>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace troika::cli {

/// What main makes once and hands to every verb.
struct Context {
  Console& console;
  int exit_code = 0;      ///< Of the program, where the verb ends without a failure.
  std::string command{};  ///< The command line, as a shell would take it.
};

struct Verb {
  CLI::App* app;              ///< Owned by the program's parser.
  std::function<void()> run;  ///< After the parser has filled the verb's arguments.
};

}  // namespace troika::cli
