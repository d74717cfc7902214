#include "base/error.h"

#include <filesystem>
#include <new>

namespace troika {

Error Error::within(std::string_view context) const {
  return Error(kind_, std::string(context) + ": " + what());
}

void fail_check(const char* expression, const std::string& values, const char* file, int line) {
  std::ostringstream out;
  out << file << ":" << line << ": check failed: " << expression;
  if (!values.empty()) out << " (" << values << ")";
  throw Bug(out.str());
}

int exit_code_of(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return error->exit_code();
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr)
    return static_cast<int>(ErrorKind::memory);
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&failure) != nullptr)
    return static_cast<int>(ErrorKind::file);
  return kBugExitCode;
}

}  // namespace troika
