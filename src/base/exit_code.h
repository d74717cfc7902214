// The exit code of a program that ends with an exception (docs/errors.md).
#pragma once

#include <exception>

namespace troika {

/// What is neither an Error nor a lack of memory is a bug.
int exit_code_of(const std::exception& failure);

}  // namespace troika
