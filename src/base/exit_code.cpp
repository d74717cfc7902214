#include "base/exit_code.h"

#include <filesystem>
#include <new>

#include "base/error.h"

namespace troika {

int exit_code_of(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return error->exit_code();
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr)
    return static_cast<int>(ErrorKind::memory);
  // A disk or its permissions, not us.
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&failure) != nullptr)
    return static_cast<int>(ErrorKind::file);
  return kBugExitCode;
}

}  // namespace troika
