// What went wrong, as a sentence on stderr and an exit code (docs/errors.md).
#pragma once

#include <exception>

#include "cli/console.h"

namespace troika::cli {

/// Returns the exit code: that of an Error, 4 when memory ran out, 70 for everything that is our
/// own fault.
int report_failure(const std::exception& failure, Console& console);

}  // namespace troika::cli
