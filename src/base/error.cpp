#include "base/error.h"

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

}  // namespace troika
