// Errors of a run file beyond its keys: a model that is not in the zoo, data
// that cannot be opened, a model that does not fit the data, a plan that cannot be followed.
#pragma once

#include <string>

#include "config/load_run.h"

namespace troika::cli {

/// One line about what would run. Builds the model and opens the data, but neither lowers the plan
/// nor measures anything, so memory is not checked. Throws one Error that has a line for every
/// problem, of the kind of the gravest: usage before file.
std::string check_run_file(RunReading reading);

}  // namespace troika::cli
