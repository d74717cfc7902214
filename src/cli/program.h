// The program behind `main`: finds the verb, runs it, turns every failure into a sentence and an
// exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace troika::cli {

/// `arguments` without the program's name. Returns the exit code: 0, that of the Error, 70 for a
/// bug, 2 for bad usage, 3 if all went well but the output could not be written.
int run_program(const std::vector<std::string>& arguments, Context& context);

}  // namespace troika::cli
