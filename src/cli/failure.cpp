#include "cli/failure.h"

#include <fmt/format.h>

#include <new>

#include "base/error.h"
#include "cli/version.h"

namespace troika::cli {

int report_failure(const std::exception& failure, Console& console) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) {
    console.fail(error->what());
    return error->exit_code();
  }
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    console.fail("the machine has no memory left; a smaller train.global_batch or model may fit");
    return static_cast<int>(ErrorKind::memory);
  }
  console.fail(
      fmt::format("{}\nThis is a bug in Troika {}. Please report it with this message, the command "
                  "and the output "
                  "of `troika doctor`.",
                  failure.what(), kVersion));
  return kBugExitCode;
}

}  // namespace troika::cli
