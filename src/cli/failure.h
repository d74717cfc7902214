// Turns an exception into a message on stderr and an exit code (docs/errors.md).
#pragma once

#include <exception>

#include "cli/console.h"

namespace troika::cli {

/// Returns the exit code: that of an Error, 4 if memory ran out, 70 for a bug in Troika.
int report_failure(const std::exception& failure, Console& console);

}  // namespace troika::cli
