// The exit code of a program that ends with an exception (docs/operation.md).
#pragma once

#include <exception>

namespace troika {

/// Of a run that was asked to stop, has saved, and can be resumed (EX_TEMPFAIL of sysexits.h, which
/// batch systems take for "try again").
inline constexpr int kInterruptedExitCode = 75;

/// What is neither an Error nor a lack of memory is a bug.
int exit_code_of(const std::exception& failure);

}  // namespace troika
