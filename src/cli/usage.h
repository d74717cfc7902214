// How the command line explains itself: help, and what is wrong with the arguments. CLI11's own
// messages never reach the user.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace troika::cli {

/// Sets the words of the help and how strictly flags are read. Verbs inherit it if they are added
/// afterwards.
void prepare_parser(CLI::App& app);

/// The help of the verb that the arguments named, or of the program.
std::string help_text(CLI::App& app);

/// One sentence about arguments that do not parse: what is wrong, and what to do.
std::string explain_usage(const CLI::ParseError& error, CLI::App& app);

}  // namespace troika::cli
