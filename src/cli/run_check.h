// Checks a run file beyond its keys: the model exists, the data can be opened and fits the model,
// and the plan is feasible.
#pragma once

#include <string>

#include "config/load_run.h"

namespace troika::cli {

/// Returns one line about the run. Builds the model and opens the data, but neither lowers the plan
/// nor measures anything, so memory is not checked. Throws one Error with a line for each problem;
/// its kind is usage if any problem is one of usage, else file.
std::string check_run_file(RunReading reading);

}  // namespace troika::cli
